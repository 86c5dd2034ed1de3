# id: 529
# kind: names - dunder method by import alias

class S(Strategy):
    from math import sqrt as __call__

    def on_bar(self, bar):
        pass
