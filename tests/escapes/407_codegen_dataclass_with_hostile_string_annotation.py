# id: 407
# kind: codegen - dataclass with hostile string annotation
from dataclasses import dataclass

@dataclass
class C:
    x: "__import__('os').close(__import__('os').open(__import__('os').environ['CANARY_DIR'] + '/c', 65))" = 0


class S(Strategy):
    def on_bar(self, bar):
        C(1)
