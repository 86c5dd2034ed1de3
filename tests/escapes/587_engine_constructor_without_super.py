class S(Strategy):
    def __init__(self, **kw):
        pass

    def on_bar(self, bar):
        pass
# id: 587
# kind: engine - constructor without super
