# id: 781
# kind: bases - generatorexit subclass raised
from collections.abc import Generator as G
BOX = []
class H:
    def throw(self, kind):
        BOX.append(kind)
        raise kind
G.close(H())
class Base:
    pass
Base = BOX[0]
class K(Base):
    pass
class S(Strategy):
    def on_bar(self, bar):
        raise K('x')
