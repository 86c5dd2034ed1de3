MASKS = [1 << n for n in range(8)]
HEX, OCT, BIN, BIG, SMALL = 0xFF, 0o17, 0b1010, 1_000_000, 1e-9


class Bits(Strategy):
    def pattern(self):
        bars = self.history(9)
        ups = [int(after.close > before.close) for before, after in zip(bars, bars[1:])]
        return sum(mask for mask, up in zip(MASKS, ups) if up) & HEX

    def on_bar(self, bar):
        pattern = self.pattern()
        ones = bin(pattern).count("1")
        lean = "long" if ones >= 5 else "none" if ones <= 3 else None
        match = {"long": 1.0, "none": 0.0}
        if lean is not None and (weight := match[lean]) != (1.0 if self.long else 0.0):
            self.target(weight, tag=f"{pattern:08b}")
        self.log(f"{pattern:#04x}", f"{bar.close:,.2f}", f"{ones / 8:.0%}", f"{ones=}") if self.bar_count % 50 == 0 else None
