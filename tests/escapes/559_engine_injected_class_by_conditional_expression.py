# id: 559
# kind: engine - injected class by conditional expression

class S(Strategy):
    def on_bar(self, bar):
        (Bar if True else Order).close = 1
