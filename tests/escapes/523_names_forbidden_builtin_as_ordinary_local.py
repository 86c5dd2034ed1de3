# id: 523
# kind: names - forbidden builtin as ordinary local

class S(Strategy):
    def on_bar(self, bar):
        open, type, id = bar.open, 1, 2
        self.log(open + type + id)
