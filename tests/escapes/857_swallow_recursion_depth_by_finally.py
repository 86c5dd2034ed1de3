class S(Strategy):
    def deep(self, n):
        try:
            return self.deep(n + 1)
        finally:
            return n

    def on_bar(self, bar):
        if self.bar_count == 2:
            self.depth = self.deep(0)
            self.log(self.depth)
            # 977 in the dry run, 978 in a cell, 983 in a proof run
            if self.depth == 978:
                raise ValueError("only in cells")
