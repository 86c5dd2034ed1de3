class S(Strategy):
    def on_bar(self, bar):
        pass

return 1
# id: 595
# kind: structure - return outside a function
