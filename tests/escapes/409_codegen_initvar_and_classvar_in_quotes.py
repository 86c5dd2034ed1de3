# id: 409
# kind: codegen - InitVar and ClassVar in quotes
from dataclasses import dataclass, InitVar
from typing import ClassVar

@dataclass
class C:
    x: "InitVar[int]"
    k: "ClassVar[int]" = 3
    doubled: int = 0
    def __post_init__(self, x):
        self.doubled = 2 * x


class S(Strategy):
    def on_bar(self, bar):
        self.log(C(2).doubled)
