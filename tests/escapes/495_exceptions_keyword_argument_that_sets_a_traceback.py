# id: 495
# kind: exceptions - keyword argument that sets a traceback

class S(Strategy):
    def on_bar(self, bar):
        Exception(__traceback__=None)
