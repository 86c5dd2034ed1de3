# id: 643
# kind: lexical - f-string with a backslash in a field

class S(Strategy):
    def on_bar(self, bar):
        x = f"{'\n'}"
