class S(Strategy):
    x = "ÿ"
    def on_bar(self, bar):
        pass
# id: 621
# kind: lexical - invalid UTF-8
