# id: 607
# kind: resource - endless string search

class S(Strategy):
    def on_bar(self, bar):
        x = "a" * 10 ** 6
        for _ in range(10 ** 6): x.count("aaaaab")
