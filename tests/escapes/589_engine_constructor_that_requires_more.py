class S(Strategy):
    def __init__(self, name, clock, bus, instrument, timeframe, secret):
        pass

    def on_bar(self, bar):
        pass
# id: 589
# kind: engine - constructor that requires more
