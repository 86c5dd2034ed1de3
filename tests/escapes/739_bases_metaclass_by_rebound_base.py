# id: 739
# kind: bases - metaclass by rebound base
from collections import Counter
T = Counter.copy(list)
class Base:
    pass
Base = T
class Meta(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            K = Meta('K', (), {'__call__': lambda self: 'called', '__eq__': lambda self, o: True})
            self.log(str(K), K()(), str(K() == 3))
