# id: 669
# kind: engine - message bus under another name

class S(Strategy):
    def on_bar(self, bar):
        b = self.bus
        b.subscribe("x", self.log)
        b.publish("x", Fill(ts=bar.ts, side=Side.BUY, quantity=1e9, price=0.01, fee=0.0, tag="", order_id=1))
