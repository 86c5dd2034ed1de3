# id: 653
# kind: parser - attribute chain

class S(Strategy):
    def on_bar(self, bar):
        x = bar.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close.close
