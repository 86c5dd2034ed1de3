# id: 727
# kind: engine - print huge early
for i in range(60):
    print('\x1b[2J\u202e' * 200)
class S(Strategy):
    def on_bar(self, bar):
        pass
