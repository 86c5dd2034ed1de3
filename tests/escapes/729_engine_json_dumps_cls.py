# id: 729
# kind: engine - json dumps cls
import json
class E:
    def __init__(self, **kw):
        self.kw = kw
    def decode(self, s):
        return ('mine', s)
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(json.loads('3', cls=E)))
