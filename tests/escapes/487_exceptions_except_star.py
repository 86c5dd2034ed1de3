# id: 487
# kind: exceptions - except star

class S(Strategy):
    def on_bar(self, bar):
        try:
            pass
        except* ValueError:
            pass
