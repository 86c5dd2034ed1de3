# id: 735
# kind: engine - patch series across cells
from collections import Counter
T = Counter.copy(list)
class Own:
    memo = 1
class S(Strategy):
    def on_start(self):
        self.sma = self.indicator('SMA', timeperiod=5)
    def on_bar(self, bar):
        if self.bar_count == 1:
            K = T(self.sma)
            try:
                self.log('seen ' + str(K.memo))
            except AttributeError:
                pass
            if self.instrument.symbol != 'SMOKE':
                K.memo = bar.close
