# id: 757
# kind: chance - address channel between cells
class S(Strategy):
    def on_stop(self):
        if self.instrument.symbol == 'A':
            junk = [[] for _ in range(20000)]
            junk.append(junk)
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(repr(object())[-12:])
