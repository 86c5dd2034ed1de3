# id: 665
# kind: parser - deep unary in an f-string

class S(Strategy):
    def on_bar(self, bar):
        x = f"{------------------------------------------------------------1}"
