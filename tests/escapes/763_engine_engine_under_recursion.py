# id: 763
# kind: engine - engine under recursion
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            def deep(n):
                try:
                    self.buy(0.001)
                except RecursionError:
                    return
                if n:
                    deep(n - 1)
            def far(n):
                try:
                    far(n + 1)
                except RecursionError:
                    deep(40)
            far(0)
            self.log('ok')
