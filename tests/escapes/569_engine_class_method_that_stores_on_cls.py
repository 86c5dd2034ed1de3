# id: 569
# kind: engine - class method that stores on cls

class S(Strategy):
    @classmethod
    def note(cls, v):
        cls.seen = v

    def on_bar(self, bar):
        S.note(bar.close)
