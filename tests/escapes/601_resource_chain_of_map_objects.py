# id: 601
# kind: resource - chain of map objects

class S(Strategy):
    def on_bar(self, bar):
        x = iter([1])
        for _ in range(10 ** 6): x = map(abs, x)
        next(x)
