# id: 513
# kind: format - format builtin with a spec from data

class S(Strategy):
    def on_bar(self, bar):
        self.log(format(bar.close, ".2f"))
