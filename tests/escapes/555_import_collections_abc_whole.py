# id: 555
# kind: import - collections.abc whole
import collections.abc as cabc


class S(Strategy):
    def on_bar(self, bar):
        pass
