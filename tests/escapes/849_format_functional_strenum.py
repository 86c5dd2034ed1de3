from enum import StrEnum


class Report:
    def format(self):
        return 1

    def render(self, thing):
        return self.format(thing)


T = StrEnum("T", {"A": "{0.__func__.__globals__[OrderType].__class__.__call__.__globals__[sys].version}"})


class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(Report.render(T.A, self.history))
