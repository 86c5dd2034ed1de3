# id: 415
# kind: codegen - enum _missing_ hook by def
from enum import Enum

class E(Enum):
    A = 1
    @classmethod
    def _missing_(cls, value):
        return cls.A


class S(Strategy):
    def on_bar(self, bar):
        E(7)
