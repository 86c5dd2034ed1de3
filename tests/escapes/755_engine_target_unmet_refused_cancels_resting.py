# id: 755
# kind: engine - target unmet refused cancels resting
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(1, limit=1.0)
        if self.bar_count == 3:
            self.target(7.0)
        if self.bar_count == 6:
            self.log(str(len(self.open_orders)))
