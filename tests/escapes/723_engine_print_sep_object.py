# id: 723
# kind: engine - print sep object
class J:
    def join(self, values):
        return ['not', 'text']
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            print('a', 'b', sep=J())
