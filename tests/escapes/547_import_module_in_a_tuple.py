# id: 547
# kind: import - module in a tuple
import json


class S(Strategy):
    def on_bar(self, bar):
        (json,)[0].codecs
