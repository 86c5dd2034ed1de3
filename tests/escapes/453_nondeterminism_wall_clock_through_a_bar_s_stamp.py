# id: 453
# kind: nondeterminism - wall clock through a bar's stamp

class S(Strategy):
    def on_bar(self, bar):
        self.log(bar.ts.now())
