# id: 581
# kind: engine - on_bar is a generator

class S(Strategy):
    def on_bar(self, bar):
        yield 1
