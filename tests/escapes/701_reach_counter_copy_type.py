# id: 701
# kind: reach - counter copy type
from collections import Counter
T = Counter.copy(list)
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(T), str(T(bar)), str(T(self.bus)), str(T(self.clock)))
