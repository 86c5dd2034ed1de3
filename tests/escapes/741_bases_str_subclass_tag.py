# id: 741
# kind: bases - str subclass tag
class Base:
    pass
Base = str
class X(Base):
    def isprintable(self):
        return True
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(1, tag=X('hi'))
