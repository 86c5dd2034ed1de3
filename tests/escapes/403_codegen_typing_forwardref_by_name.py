# id: 403
# kind: codegen - typing.ForwardRef by name
import typing


class S(Strategy):
    def on_bar(self, bar):
        typing.ForwardRef("1")
