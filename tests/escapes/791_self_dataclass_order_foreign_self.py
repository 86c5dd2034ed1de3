# id: 791
# kind: self - dataclass order foreign self
from dataclasses import dataclass
@dataclass(order=True, unsafe_hash=True)
class D:
    gi_frame: object
    _HAS_DEFAULT_FACTORY: int = 3
    MISSING: int = 4
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(D(1) < D(2)), repr(D('x')))
