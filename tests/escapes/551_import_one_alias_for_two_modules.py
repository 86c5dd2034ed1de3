# id: 551
# kind: import - one alias for two modules
import math as m
import typing as m


class S(Strategy):
    def on_bar(self, bar):
        m.sys
