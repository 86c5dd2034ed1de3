# id: 503
# kind: format - format with a nested attribute field

class S(Strategy):
    def on_bar(self, bar):
        self.log("{0:{1.real}}".format(1, 2))
