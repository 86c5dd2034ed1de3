# id: 613
# kind: resource - recursion near the limit into the engine

class S(Strategy):
    def on_bar(self, bar):
        def deep(n):
            try:
                deep(n + 1)
            except RecursionError:
                pass
            self.log(n) if n > 900 else None
        deep(0)
