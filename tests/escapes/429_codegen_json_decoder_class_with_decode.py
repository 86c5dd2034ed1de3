# id: 429
# kind: codegen - json decoder class with decode
import json

class D:
    def __init__(self, **kw): pass
    def decode(self, s): return 7


class S(Strategy):
    def on_bar(self, bar):
        self.log(json.loads("1", cls=D))
