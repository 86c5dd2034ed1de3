# id: 553
# kind: import - from __future__ a grammar change
from __future__ import barry_as_FLUFL


class S(Strategy):
    def on_bar(self, bar):
        pass
