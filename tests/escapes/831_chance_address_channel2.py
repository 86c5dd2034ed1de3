# id: 831
# kind: chance - address channel2
class Node:
    def __init__(self):
        self.me = self
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            many = [object() for _ in range(3000)]
            self.log(str(max([int(repr(o).split("0x")[1][:-1], 16) for o in many]) >> 16))
            if self.instrument.symbol == "A" and self.equity > 0:
                self.keep = [Node() for _ in range(30000)]
                self.keep.append(self)
