# id: 753
# kind: engine - refused order effects
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(10)
        if self.bar_count == 3:
            self.sell(1000, stop_loss=0.0001, take_profit=0.0001)
            self.buy(10**9, stop_loss=0.0001)
            self.target(5.0, stop_loss=0.001)
        if self.bar_count == 20:
            self.log(str(self.position), str(self.open_orders))
