# id: 515
# kind: format - percent width bomb

class S(Strategy):
    def on_bar(self, bar):
        "%*d" % (10 ** 9, 1)
        self.x = ["%*d" % (10 ** 8, 1) for _ in range(50)]
