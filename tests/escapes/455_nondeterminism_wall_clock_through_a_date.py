# id: 455
# kind: nondeterminism - wall clock through a date

class S(Strategy):
    def on_bar(self, bar):
        self.log(bar.ts.date().today())
