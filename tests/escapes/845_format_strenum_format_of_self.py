from enum import StrEnum


class Report:
    def format(self):
        return 1


class Template(StrEnum):
    A = "{0.__func__.__globals__[indicators]}"

    def render(self, thing):
        return self.format(thing)


class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(Template.A.render(self.history))
