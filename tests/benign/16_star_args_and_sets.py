def every(*conditions, at_least=None):
    needed = len(conditions) if at_least is None else at_least
    return sum(map(bool, conditions)) >= needed


def order_options(**options):
    defaults = {"stop_loss": 0.08, "tag": "default"}
    return {**defaults, **{key: value for key, value in options.items() if value is not None}}


class Conditions(Strategy):
    quiet_days = frozenset({4})

    def on_start(self):
        self.adx = self.indicator("ADX", timeperiod=14)
        self.ema = self.indicator("EMA", timeperiod=30)
        self.traded_days = set()

    def on_bar(self, bar):
        day = bar.ts.weekday()
        calm = day in self.quiet_days | {5, 6}
        if self.flat and not calm and every(self.adx[-1] > 15, bar.close > self.ema[-1], bar.close > bar.open, at_least=2):
            self.traded_days.add(day)
            self.buy(**order_options(tag=f"day {day}", take_profit=None))
        elif self.long and every(bar.close < self.ema[-1], bar.close < bar.open):
            self.close()
