# id: 509
# kind: format - plain literal format

class S(Strategy):
    def on_bar(self, bar):
        self.log("{} {name:>{w}}".format(1, name="a", w=5))
