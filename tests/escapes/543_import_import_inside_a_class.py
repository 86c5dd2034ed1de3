# id: 543
# kind: import - import inside a class

class S(Strategy):
    import typing

    def on_bar(self, bar):
        self.log(self.typing)
