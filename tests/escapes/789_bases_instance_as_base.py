# id: 789
# kind: bases - instance as base
BOX = []
class M:
    def __init__(self, *a):
        BOX.append(a)
class Base:
    pass
Base = M()
class K(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(BOX)[:200])
