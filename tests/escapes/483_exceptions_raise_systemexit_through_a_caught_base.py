# id: 483
# kind: exceptions - raise SystemExit through a caught base

class S(Strategy):
    def on_bar(self, bar):
        raise [SystemExit][0]
