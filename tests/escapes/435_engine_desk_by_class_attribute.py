# id: 435
# kind: engine - desk by class attribute

class S(Strategy):
    _desk = None

    def on_bar(self, bar):
        pass
