# id: 549
# kind: import - module by default argument
import json

def f(m=json): return m


class S(Strategy):
    def on_bar(self, bar):
        f()
