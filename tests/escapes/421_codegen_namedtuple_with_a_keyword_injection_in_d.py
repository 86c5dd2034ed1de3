# id: 421
# kind: codegen - namedtuple with a keyword injection in defaults
import collections


class S(Strategy):
    def on_bar(self, bar):
        collections.namedtuple("T", ["a", "b=__import__('os')"])
