# id: 717
# kind: engine - generator close gives GeneratorExit
from collections.abc import Generator as G
BOX = []
class H:
    def throw(self, kind):
        BOX.append(kind)
        raise kind
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            BOX.append(0)
            G.close(H())
            self.log(str(BOX))
