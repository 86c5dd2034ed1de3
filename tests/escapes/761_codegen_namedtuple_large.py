# id: 761
# kind: codegen - namedtuple large
from typing import NamedTuple
N = NamedTuple('N', [('f' + str(i), int) for i in range(60000)])
class S(Strategy):
    def on_bar(self, bar):
        pass
