# À¯
class S(Strategy):
    def on_bar(self, bar):
        pass
# id: 623
# kind: lexical - overlong UTF-8
