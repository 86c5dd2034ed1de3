# id: 563
# kind: engine - injected class by default argument
def f(b=Order): return b


class S(Strategy):
    def on_bar(self, bar):
        pass
