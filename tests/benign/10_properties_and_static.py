class Channel:
    """A price channel with a middle and a width."""

    def __init__(self, lower, upper):
        self.lower = lower
        self.upper = upper

    @property
    def middle(self):
        return (self.lower + self.upper) / 2

    @property
    def width(self):
        return self.upper - self.lower

    @classmethod
    def around(cls, value, half):
        return cls(value - half, value + half)

    @staticmethod
    def clamp(value, low, high):
        return max(low, min(high, value))

    def position_of(self, price):
        return self.clamp((price - self.lower) / self.width, 0.0, 1.0) if self.width else 0.5


class ChannelTrader(Strategy):
    def on_start(self):
        self.center = self.indicator("SMA", timeperiod=20)
        self.noise = self.indicator("STDDEV", timeperiod=20)

    def on_bar(self, bar):
        channel = Channel.around(self.center[-1], 2 * self.noise[-1])
        where = channel.position_of(bar.close)
        if self.flat and where < 0.25:
            self.buy(stop_loss=0.1)
        elif self.long and (where > 0.8 or bar.close > channel.middle * 1.1):
            self.close()
