class S(Strategy):
    def on_bar(self, bar):
        pass

del S
# id: 599
# kind: structure - strategy deleted at module level
