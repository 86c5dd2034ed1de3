# id: 431
# kind: codegen - json encoder hook recursion
import json


class S(Strategy):
    def on_bar(self, bar):
        json.dumps(self, default=lambda o: o)
