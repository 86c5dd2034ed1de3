# id: 805
# kind: codegen - type three args injects annotations
from collections import Counter
T = Counter.copy(list)
from dataclasses import dataclass
E = "x and __import__('os').getpid()"
X = dataclass(init=False, eq=False)(T('X', (), {'__annotations__': {E: int}, 'x': 1}))
try:
    OUT = [repr(X())]
except Exception as e:
    OUT = [str(e)]
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(OUT))
