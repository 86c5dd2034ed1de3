# id: 527
# kind: names - class keyword total
from typing import TypedDict

class T(TypedDict, total=False):
    a: int


class S(Strategy):
    def on_bar(self, bar):
        pass
