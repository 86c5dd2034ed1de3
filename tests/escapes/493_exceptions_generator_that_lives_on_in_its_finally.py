# id: 493
# kind: exceptions - generator that lives on in its finally
def spin():
    try:
        yield 1
    finally:
        while True:
            pass


class S(Strategy):
    def on_bar(self, bar):
        self.g = spin(); next(self.g)
