# id: 641
# kind: lexical - f-string that only 3.12 can read

class S(Strategy):
    def on_bar(self, bar):
        x = f"{"a"}"
