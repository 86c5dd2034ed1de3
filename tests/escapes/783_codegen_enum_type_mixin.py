# id: 783
# kind: codegen - enum type mixin
from enum import Enum
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            X = Enum('X', {'A': 1.5}, type=float)
            self.log(str(isinstance(X.A, float)), str(X.A + 1))
            self.buy(X.A)
