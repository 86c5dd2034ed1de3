# id: 715
# kind: chance - address nondeterminism
class S(Strategy):
    def on_bar(self, bar):
        a = int(repr(object()).split("0x")[1][:-1], 16) >> 24
        if self.bar_count == 1:
            self.log(hex(a))
            self.buy(1 + a % 97)
