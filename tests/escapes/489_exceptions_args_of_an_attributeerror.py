# id: 489
# kind: exceptions - args of an AttributeError

class S(Strategy):
    def on_bar(self, bar):
        try:
            self.nope
        except AttributeError as e:
            self.log(e.args, e.name)
