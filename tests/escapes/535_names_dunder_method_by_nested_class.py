# id: 535
# kind: names - dunder method by nested class
class K:
    class __call__: pass


class S(Strategy):
    def on_bar(self, bar):
        pass
