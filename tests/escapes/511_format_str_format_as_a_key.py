# id: 511
# kind: format - str.format as a key

class S(Strategy):
    def on_bar(self, bar):
        sorted(["{0.__class__}"], key=str.format)
