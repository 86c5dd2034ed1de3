# id: 485
# kind: exceptions - exception group

class S(Strategy):
    def on_bar(self, bar):
        raise ExceptionGroup("x", [ValueError()])
