# id: 539
# kind: names - setter decorator

class S(Strategy):
    @property
    def x(self): return 1
    @x.setter
    def x(self, v): pass

    def on_bar(self, bar):
        pass
