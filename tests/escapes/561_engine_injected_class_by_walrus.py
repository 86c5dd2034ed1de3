# id: 561
# kind: engine - injected class by walrus

class S(Strategy):
    def on_bar(self, bar):
        (b := Bar)
