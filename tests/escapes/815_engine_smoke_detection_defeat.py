# id: 815
# kind: engine - smoke detection defeat
class S(Strategy):
    def on_bar(self, bar):
        if self.instrument.symbol != 'SMOKE':
            raise ValueError('only in production')
