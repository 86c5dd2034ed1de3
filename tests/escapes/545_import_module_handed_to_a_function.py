# id: 545
# kind: import - module handed to a function
import json

def walk(m): return m


class S(Strategy):
    def on_bar(self, bar):
        walk(json)
