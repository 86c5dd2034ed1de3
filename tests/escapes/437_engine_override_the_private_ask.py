# id: 437
# kind: engine - override the private _ask

class S(Strategy):
    def _ask(self, *a):
        return 0

    def on_bar(self, bar):
        self.buy(1)
