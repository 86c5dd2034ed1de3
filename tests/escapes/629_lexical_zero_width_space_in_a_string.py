class S(Strategy):
    x = "a​b"
    def on_bar(self, bar):
        pass
# id: 629
# kind: lexical - zero width space in a string
