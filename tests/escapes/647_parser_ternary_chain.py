# id: 647
# kind: parser - ternary chain

class S(Strategy):
    def on_bar(self, bar):
        x = (1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            1 if bar else
            2)
