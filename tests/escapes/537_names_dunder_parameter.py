# id: 537
# kind: names - dunder parameter
def f(__class__): return __class__


class S(Strategy):
    def on_bar(self, bar):
        pass
