# id: 775
# kind: engine - instance attribute on shared by self
from json import dumps
class H:
    def poke(self):
        self.memo = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.instrument.symbol != 'SMOKE':
            H.poke(dumps)
