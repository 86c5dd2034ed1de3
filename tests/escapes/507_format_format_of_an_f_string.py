# id: 507
# kind: format - format of an f-string

class S(Strategy):
    def on_bar(self, bar):
        x = "__class__"
        self.log(f"{{0.{x}}}".format(self))
