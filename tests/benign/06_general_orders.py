class GeneralOrders(Strategy):
    """Every order in its general form."""

    def on_start(self):
        self.trend = self.indicator("EMA", timeperiod=25)

    def on_bar(self, bar):
        if self.flat and bar.close > self.trend[-1] > self.trend[-2]:
            self.submit(Order(side=Side.BUY, quantity=10, type=OrderType.MARKET, tag="in"))
            self.submit(Order(side=Side.BUY, quantity=5, type=OrderType.STOP, stop=bar.high * 1.02))
        elif self.long and not any(order.side is Side.SELL for order in self.open_orders):
            self.submit(Order(side=Side.SELL, type=OrderType.TRAILING_STOP, trail=0.07))
        elif self.long and bar.close < self.trend[-1]:
            self.cancel()
            self.submit(Order(side=Side.SELL))
