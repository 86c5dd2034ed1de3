# id: 703
# kind: reach - chainmap new child type
from collections import ChainMap
class C:
    maps = ()
class D:
    maps = ((), {"__getattr__": lambda self, name: "got " + name})
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            K = ChainMap.new_child(D, "K")
            self.log(str(ChainMap.new_child(C, bar)), K().anything)
