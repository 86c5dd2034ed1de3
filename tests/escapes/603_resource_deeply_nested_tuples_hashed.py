# id: 603
# kind: resource - deeply nested tuples hashed

class S(Strategy):
    def on_bar(self, bar):
        x = ()
        for _ in range(10 ** 6): x = (x,)
        {x: 1}
