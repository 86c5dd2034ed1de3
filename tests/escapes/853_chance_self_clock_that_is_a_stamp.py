from dataclasses import dataclass


@dataclass
class Box:
    clock: object

    def peek(self):
        return self.clock.now()


class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(str(Box(bar.ts).peek()))
