# id: 795
# kind: self - replace foreign
from dataclasses import replace, fields
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            o = replace(self.instrument, symbol='x')
            self.log(str(o)[:60], str([f.name for f in fields(Order(side=Side.BUY))]))
            for f in fields(o):
                self.log(str(f.metadata), str(f.default)[:30])
