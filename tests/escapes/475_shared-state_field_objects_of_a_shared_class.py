# id: 475
# kind: shared-state - Field objects of a shared class
from dataclasses import fields


class S(Strategy):
    def on_bar(self, bar):
        f = fields(Order(side=Side.BUY))[0]
        f.default = bar.close
        self.default = 1
