# id: 817
# kind: engine - tree rule walrus self
class H:
    def __init__(self):
        self.x = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            g = lambda self: self.x
            self.log(str(g(H())))
