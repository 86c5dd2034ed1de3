# id: 573
# kind: engine - forged orders by weird types

class S(Strategy):
    def on_bar(self, bar):
        for q in ([], {}, "1", object(), 10 ** 400, -1, 0, float("inf"), True, None, b"1"):
            self.submit(Order(side=q, quantity=q, type=q, limit=q, stop=q, trail=q, tag=q))
