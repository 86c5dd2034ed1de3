# id: 521
# kind: names - forbidden builtin by comprehension at module level
x = [(open := open) for _ in (1,)]


class S(Strategy):
    def on_bar(self, bar):
        pass
