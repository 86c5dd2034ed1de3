# id: 423
# kind: codegen - namedtuple of 100000 fields
import collections


class S(Strategy):
    def on_bar(self, bar):
        collections.namedtuple("T", ["a%d" % i for i in range(100000)])
