# id: 533
# kind: names - dunder method by except name
class K:
    try:
        1 / 0
    except ZeroDivisionError as __eq__:
        pass


class S(Strategy):
    def on_bar(self, bar):
        pass
