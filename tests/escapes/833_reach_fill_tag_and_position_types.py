# id: 833
# kind: reach - fill tag and position types
from typing import final, overload
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1 and self.instrument.symbol != "SMOKE":
            final(Strategy.buy)
            overload(Strategy.buy)
