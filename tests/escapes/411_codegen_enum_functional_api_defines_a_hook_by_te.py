# id: 411
# kind: codegen - enum functional API defines a hook by text
import enum


class S(Strategy):
    def on_bar(self, bar):
        E = enum.Enum("E", {"__lt__": lambda a, b: True, "A": 1})
        self.log(sorted([E.A, E.A]))
