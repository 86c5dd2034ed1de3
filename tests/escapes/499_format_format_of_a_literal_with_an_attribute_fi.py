# id: 499
# kind: format - format of a literal with an attribute field

class S(Strategy):
    def on_bar(self, bar):
        self.log("{0.cash}".format(self))
