class S(Strategy):
    def on_bar(self, bar):
        pass

1 / 0
# id: 597
# kind: structure - module level raises
