class S(Strategy):
    def on_bar(self, bar):
        ㅤ = 1
# id: 633
# kind: lexical - hangul filler as a name
