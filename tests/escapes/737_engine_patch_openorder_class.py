# id: 737
# kind: engine - patch openorder class
from collections import Counter
T = Counter.copy(list)
class Own:
    memo = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(1, limit=1.0)
        if self.bar_count == 3 and self.open_orders:
            K = T(self.open_orders[0])
            try:
                self.log('seen', str(K.memo))
            except AttributeError:
                pass
            if self.instrument.symbol != 'SMOKE':
                K.memo = 1
