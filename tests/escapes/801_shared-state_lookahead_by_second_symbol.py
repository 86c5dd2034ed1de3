# id: 801
# kind: shared-state - lookahead by second symbol
from typing import List
class S(Strategy):
    last = None
    def on_stop(self):
        if self.instrument.symbol != 'SMOKE':
            List[999.0]
    def on_bar(self, bar):
        n = self.bar_count
        if self.instrument.symbol == 'SMOKE':
            return
        up = n % 2
        k = 1000000 + n * 10
        known = str(List[k]) != 'typing.List[' + str(k) + ']'
        seen = str(List[999]) == 'typing.List[999.0]'
        if self.last and not seen:
            if bar.close > self.last:
                List[float(1000000 + (n - 1) * 10)]
            else:
                pass
        self.last = bar.close
        if seen:
            if known and self.flat:
                self.buy()
            elif not known and self.long:
                self.close()
