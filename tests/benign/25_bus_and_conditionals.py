class Elaborate(Strategy):
    """Long conditions, chained comparisons, a chain of elif, and counters in a dict of dicts."""

    def on_start(self):
        self.rsi = self.indicator("RSI", timeperiod=14)
        self.mom = self.indicator("MOM", timeperiod=10)
        self.table = {}
        self.bus.subscribe("note", self.remember)

    def remember(self, message):
        self.log(message)

    def zone(self, value):
        if value < 20:
            return "floor"
        elif value < 40:
            return "low"
        elif value < 60:
            return "middle"
        elif value < 80:
            return "high"
        else:
            return "ceiling"

    def on_bar(self, bar):
        zone = self.zone(self.rsi[-1])
        row = self.table.setdefault(zone, {})
        row["count"] = row.get("count", 0) + 1
        self.table[zone]["last"] = bar.close
        if (
            self.flat
            and 0 < self.rsi[-1] < 100
            and (zone in ("floor", "low") or self.mom[-1] > 0 > self.mom[-2])
            and not (bar.close < bar.open and bar.volume == 0)
        ):
            self.buy(None, stop_loss=0.12)
        elif self.long and zone in ("high", "ceiling"):
            self.sell()
        else:
            pass
