# id: 477
# kind: shared-state - register on a typing alias
import typing


class S(Strategy):
    def on_bar(self, bar):
        typing.Mapping.register(S)
