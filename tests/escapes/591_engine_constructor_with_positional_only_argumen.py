class S(Strategy):
    def __init__(self, name, clock, bus, instrument, timeframe, /):
        pass

    def on_bar(self, bar):
        pass
# id: 591
# kind: engine - constructor with positional-only arguments
