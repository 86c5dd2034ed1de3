# id: 713
# kind: bases - class base by rebinding
class Base:
    pass
Base = float
class F(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(F(3.0))
            self.log(str(F(3.0)))
