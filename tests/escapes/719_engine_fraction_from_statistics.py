# id: 719
# kind: engine - fraction from statistics
from statistics import mean
BOX = []
class N:
    def __init__(self, v=0):
        BOX.append(str(v) + ' ' + repr(v))
        self.v = v
    def as_integer_ratio(self):
        return (3, 1)
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            mean([N(3), N(4)])
            self.log(str(BOX))
