# id: 517
# kind: names - forbidden builtin by default argument
def f(x, open=open):
    return open


class S(Strategy):
    def on_bar(self, bar):
        f(1)
