# [2Jhello
class S(Strategy):
    def on_bar(self, bar):
        pass
# id: 635
# kind: lexical - escape sequence for a terminal
