# id: 425
# kind: codegen - TypedDict of hostile text
from typing import TypedDict


class S(Strategy):
    def on_bar(self, bar):
        T = TypedDict("T", {"a": "__import__('os').close(__import__('os').open(__import__('os').environ['CANARY_DIR'] + '/c', 65))"})
        self.log(T(a=1)["a"])
