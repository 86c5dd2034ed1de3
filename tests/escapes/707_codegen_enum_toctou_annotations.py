# id: 707
# kind: codegen - enum toctou annotations
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
E = "name and str(__import__('sys').modules['os'])[:40] + str(__import__('os').getpid())"
L = ["GOOD", {E: int}]
def flip():
    L[0] = "__annotations__"
    return "OTHER"
D = defaultdict(flip)
D["ITEM"] = 1
M = ["GOOD2", lambda self: 7]
X = Enum("X", [L, D])
OUT = []
try:
    dataclass(init=False, eq=False)(X)
    OUT.append(repr(X.ITEM))
except Exception as e:
    OUT.append(str(e))
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(OUT))
