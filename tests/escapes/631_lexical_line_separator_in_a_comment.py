# a import os
class S(Strategy):
    def on_bar(self, bar):
        pass
# id: 631
# kind: lexical - line separator in a comment
