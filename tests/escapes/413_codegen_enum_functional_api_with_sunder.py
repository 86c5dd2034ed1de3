# id: 413
# kind: codegen - enum functional API with sunder
import enum


class S(Strategy):
    def on_bar(self, bar):
        E = enum.Enum("E", [("_missing_", 1), ("A", 2)])
