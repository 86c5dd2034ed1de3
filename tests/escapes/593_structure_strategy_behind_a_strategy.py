class A(Strategy):
    def on_bar(self, bar):
        pass

class S(A):
    def on_bar(self, bar):
        pass
# id: 593
# kind: structure - strategy behind a strategy
