# id: 401
# kind: codegen - Annotated forwards _evaluate of a ForwardRef
from typing import Annotated


class S(Strategy):
    def _evaluate(self): pass
    def go(self):
        return self._evaluate({}, {}, frozenset())

    def on_bar(self, bar):
        S.go(Annotated["__import__('os').close(__import__('os').open(__import__('os').environ['CANARY_DIR'] + '/c', 65))", 1])
