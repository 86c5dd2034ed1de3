# id: 785
# kind: bases - super base
class Base:
    pass
Base = super
class Sup(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            s = Sup(S, self)
            self.log(str(s), str(s.flat))
