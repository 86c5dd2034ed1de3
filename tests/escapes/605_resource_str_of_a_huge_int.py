# id: 605
# kind: resource - str of a huge int

class S(Strategy):
    def on_bar(self, bar):
        str(10 ** 10 ** 4)
