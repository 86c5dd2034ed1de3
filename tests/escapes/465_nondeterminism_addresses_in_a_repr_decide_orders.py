# id: 465
# kind: nondeterminism - addresses in a repr decide orders
KEEP = []


class S(Strategy):
    def on_start(self):
        self.things = [object() for _ in range(50 + len(repr(self)))]
        KEEP.extend(self.things)

    def on_bar(self, bar):
        self.buy(0.01 * (1 + sum(ord(c) for o in self.things for c in repr(o)) % 97))
