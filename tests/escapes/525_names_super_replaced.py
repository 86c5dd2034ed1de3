# id: 525
# kind: names - super replaced
super = lambda: None


class S(Strategy):
    def on_bar(self, bar):
        pass
