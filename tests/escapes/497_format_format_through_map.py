# id: 497
# kind: format - format through map

class S(Strategy):
    def on_bar(self, bar):
        list(map("{0.__class__}".format, [self]))
