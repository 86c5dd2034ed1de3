class S(Strategy):
    def on_bar(self, bar):
        pass # import os
# id: 619
# kind: lexical - carriage return hides a line
