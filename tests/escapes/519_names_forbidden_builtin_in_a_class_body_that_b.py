# id: 519
# kind: names - forbidden builtin in a class body that binds it
class K:
    o = open
    open = 1


class S(Strategy):
    def on_bar(self, bar):
        pass
