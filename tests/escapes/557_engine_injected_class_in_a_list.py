# id: 557
# kind: engine - injected class in a list

class S(Strategy):
    def on_bar(self, bar):
        [Bar][0].close = 1
