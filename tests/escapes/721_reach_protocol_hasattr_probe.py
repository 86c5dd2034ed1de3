# id: 721
# kind: reach - protocol hasattr probe
from typing import Protocol
class P(Protocol):
    _is_runtime_protocol = True
    gi_frame = None
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(isinstance((i for i in [1]), P)), str(isinstance(3, P)))
