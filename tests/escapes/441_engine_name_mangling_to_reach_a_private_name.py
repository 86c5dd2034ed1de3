# id: 441
# kind: engine - name mangling to reach a private name

class S(Strategy):
    def on_bar(self, bar):
        self.log(self.__desk)
