# id: 705
# kind: codegen - typeddict dataclass exec
from dataclasses import dataclass
from typing import TypedDict
OUT = []
E = "x,)\n globals()['__builtins__']['print'];self_=0\n import sys\n raise ValueError(str(sys.modules['os'].getpid())+repr(sorted(sys.modules)[:3]))\n def q(self,other):\n  return (0"
T = TypedDict("T", {E: int})
try:
    dataclass(init=False, repr=False)(T)
except Exception as e:
    OUT.append(str(e))
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(OUT))
