# id: 819
# kind: engine - store by for target
from json import dumps
class H:
    memo = 1
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            f = dumps
            for f.memo in [1]:
                pass
