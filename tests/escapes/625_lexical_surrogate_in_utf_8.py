# í €
class S(Strategy):
    def on_bar(self, bar):
        pass
# id: 625
# kind: lexical - surrogate in UTF-8
