# id: 799
# kind: shared-state - literal cache
from typing import Dict, Tuple
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(Dict[5, 6]), str(Tuple[9]))
            if self.instrument.symbol != 'SMOKE':
                Dict[5.0, 6]
                Tuple[9.0]
