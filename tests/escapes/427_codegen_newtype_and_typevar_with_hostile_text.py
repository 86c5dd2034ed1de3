# id: 427
# kind: codegen - NewType and TypeVar with hostile text
from typing import NewType, TypeVar

T = TypeVar("T", bound="__import__('os').close(__import__('os').open(__import__('os').environ['CANARY_DIR'] + '/c', 65))")


class S(Strategy):
    def on_bar(self, bar):
        N = NewType("N", int)
        self.log(N(3))
