# id: 531
# kind: names - dunder method by for loop in a class body
class K:
    for __lt__ in [max]:
        pass


class S(Strategy):
    def on_bar(self, bar):
        pass
