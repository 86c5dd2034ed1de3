# id: 443
# kind: engine - super walk to a private name

class S(Strategy):
    def on_bar(self, bar):
        self.log(super()._desk)
