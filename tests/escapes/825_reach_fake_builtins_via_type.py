# id: 825
# kind: reach - fake builtins via type
from collections import Counter
T = Counter.copy(list)
OUT = []
class M:
    pass
K = T('K', (), {'__getattribute__': lambda s, n: n})
OUT.append(K().anything)
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(OUT))
