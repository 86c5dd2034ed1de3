# id: 829
# kind: engine - on stop orders and log
class S(Strategy):
    def on_start(self):
        self.buy()
        self.cancel()
    def on_stop(self):
        self.buy(1)
    def on_bar(self, bar):
        self.log('x' * 10000)
