# id: 611
# kind: resource - recursion in a hook
def f(): return f()


class S(Strategy):
    def on_bar(self, bar):
        f()
