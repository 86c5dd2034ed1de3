# id: 725
# kind: engine - print sep object early
class J:
    def join(self, values):
        return ['not', 'text']
print('a', sep=J())
class S(Strategy):
    def on_bar(self, bar):
        pass
