# id: 541
# kind: names - property named like a shadowed decorator
def property(f): return f

class K:
    @property
    def x(self): return 1


class S(Strategy):
    def on_bar(self, bar):
        pass
