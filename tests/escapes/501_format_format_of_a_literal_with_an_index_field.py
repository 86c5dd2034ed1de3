# id: 501
# kind: format - format of a literal with an index field

class S(Strategy):
    def on_bar(self, bar):
        self.log("{0[cash]}".format({"cash": 1}))
