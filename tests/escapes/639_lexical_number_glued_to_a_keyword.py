# id: 639
# kind: lexical - number glued to a keyword

class S(Strategy):
    def on_bar(self, bar):
        x = 1if bar else 2
