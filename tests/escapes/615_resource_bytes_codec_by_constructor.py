# id: 615
# kind: resource - bytes codec by constructor

class S(Strategy):
    def on_bar(self, bar):
        str(b"a", "no_such_codec")
