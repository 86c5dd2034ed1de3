# id: 505
# kind: format - format of a concatenation

class S(Strategy):
    def on_bar(self, bar):
        self.log(("{0.__cl" + "ass__}").format(self))
