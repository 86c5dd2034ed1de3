class Peek:
    now = 1

    def peek(self):
        return self.now()


class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(Peek.peek(bar.ts)))
