# id: 807
# kind: codegen - enum missing hook
from collections import defaultdict
from enum import Enum
L = ['GOOD', lambda *a: 'hook ran']
def flip():
    L[0] = '__str__'
    return 'OTHER'
D = defaultdict(flip)
D['ITEM'] = 1
OUT = []
X = Enum('X', [L, D])
OUT.append(str(X.ITEM))
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(OUT))
