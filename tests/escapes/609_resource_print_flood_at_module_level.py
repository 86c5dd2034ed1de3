# id: 609
# kind: resource - print flood at module level
while True: print("x" * 1000)


class S(Strategy):
    def on_bar(self, bar):
        pass
