# id: 745
# kind: engine - submit shapes
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for o in (None, 3, 'x', Order(side=None), Order(side='buy'), Order(side=OrderType.MARKET),
                      Order(side=Side.BUY, quantity=1, type='market'), Order(side=Side.BUY, quantity=1, type=Side.BUY),
                      Order(side=Side.SELL, quantity=float('nan')), Order(side=Side.BUY, quantity=1, trail=5.0),
                      Order(side=Side.BUY, quantity=1, tag=None), Order(side=Side.BUY, quantity=1, stop_loss=1.0),
                      Order(side=Side.BUY, quantity=1, limit=3)):
                self.submit(o)
