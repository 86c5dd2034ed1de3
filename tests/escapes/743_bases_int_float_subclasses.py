# id: 743
# kind: bases - int float subclasses
from enum import IntEnum
class Base:
    pass
Base = float
class F(Base):
    pass
class I(IntEnum):
    A = 1
class Weird:
    real = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for v in (I.A, F(0.1), True, 1j, 10**400, 1e16, float('nan'), float('inf'), -1.0, 0, '1', (1,), Weird()):
                self.buy(v)
                self.sell(v)
                self.target(v)
                self.buy(1, limit=v)
                self.buy(1, stop=v)
                self.buy(1, stop_loss=v)
                self.buy(1, take_profit=v)
            self.log('asked')
