# id: 787
# kind: bases - property base
class Base:
    pass
Base = property
class P(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(P(lambda s: 1).fget(3)), str(Strategy.flat.fget)[:30])
