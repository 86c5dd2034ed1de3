class S(Strategy):
    def on_bar(self, bar):
        pass

class T(dict):
    pass

S = T
# id: 585
# kind: engine - strategy class replaced after its definition
