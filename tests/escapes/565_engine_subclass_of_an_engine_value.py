# id: 565
# kind: engine - subclass of an engine value
class MyOrder(Order):
    pass


class S(Strategy):
    def on_bar(self, bar):
        pass
