# id: 491
# kind: exceptions - finally with continue swallows everything

class S(Strategy):
    def on_bar(self, bar):
        while True:
            try:
                raise ValueError
            finally:
                continue
