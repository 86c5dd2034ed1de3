class Streaks(Strategy):
    def streak(self, direction):
        bars = self.history(30)
        count = 0
        while count + 1 < len(bars) and (bars[-1 - count].close - bars[-2 - count].close) * direction > 0:
            count += 1
        return count

    def on_bar(self, bar):
        if (down := self.streak(-1)) >= 3 and self.flat:
            self.buy(tag=f"after {down} falling bars")
        elif self.long and ((up := self.streak(1)) >= 2 or self.equity < 0.9 * self.cash):
            self.close(tag=f"after {up} rising bars")
