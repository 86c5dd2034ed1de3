class S(Strategy):
    def on_bar(self, bar):
        pass
    on_bar = property(lambda self: None)
# id: 583
# kind: engine - on_bar hidden by a later assignment
