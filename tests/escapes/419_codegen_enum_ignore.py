# id: 419
# kind: codegen - enum _ignore_
from enum import Enum

class E(Enum):
    _ignore_ = ["x"]
    A = 1


class S(Strategy):
    def on_bar(self, bar):
        self.log(E.A)
