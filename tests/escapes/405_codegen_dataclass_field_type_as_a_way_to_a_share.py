# id: 405
# kind: codegen - dataclass field type as a way to a shared class
from dataclasses import dataclass, fields

@dataclass
class C:
    x: Order = None
    seen: float = 0.0


class S(Strategy):
    def on_bar(self, bar):
        K = fields(C)[0].type
        K.seen = bar.close
