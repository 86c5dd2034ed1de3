# id: 821
# kind: engine - frozen order changed
class H:
    quantity = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            o = Order(side=Side.BUY, quantity=1)
            try:
                o.quantity = 5
            except Exception as e:
                self.log(str(e))
            self.submit(o)
