# id: 637
# kind: lexical - invalid string escape

class S(Strategy):
    def on_bar(self, bar):
        x = "\d"
