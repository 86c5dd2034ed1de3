# id: 711
# kind: shared-state - typing cache state
from typing import List
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1 and self.instrument.symbol != "SMOKE":
            self.log("before: " + str(List[12345]))
    def on_stop(self):
        pass
    def on_start(self):
        if self.instrument.symbol != "SMOKE":
            self.log("start: " + str(List[777]) )
            List[778.0]
            self.log("next: " + str(List[778]))
