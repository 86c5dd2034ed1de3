# Candle patterns by hand. The names open and type are ordinary words here.


class CandleReader(Strategy):
    def candle(self, bar):
        open, high, low, close = bar.open, bar.high, bar.low, bar.close
        body = abs(close - open)
        span = (high - low) or 1.0
        return open, close, body / span

    def kind(self, bar):
        open, close, share = self.candle(bar)
        type = "up" if close > open else "down"
        return f"{type}:{'strong' if share > 0.6 else 'weak'}"

    def on_bar(self, bar):
        kinds = [self.kind(past) for past in self.history(3)]
        id = self.bar_count
        if self.flat and kinds[-1] == "up:strong" and kinds.count("down:strong") <= 1:
            self.buy(tag=f"entry-{id}")
        elif self.long and kinds[-1] == "down:strong":
            exit = self.close()
            self.log("exit order {} at bar {:d}".format(exit, id))
