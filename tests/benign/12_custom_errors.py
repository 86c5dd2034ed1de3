class NotReady(Exception):
    """There is not enough to decide on."""


class Shaky(ValueError):
    pass


def ratio(above, below):
    if below == 0:
        raise Shaky(f"cannot divide {above!r} by nothing")
    return above / below


class Careful(Strategy):
    def strength(self):
        bars = self.history(10)
        if len(bars) < 10:
            raise NotReady
        gains = sum(max(b.close - a.close, 0) for a, b in zip(bars, bars[1:]))
        losses = sum(max(a.close - b.close, 0) for a, b in zip(bars, bars[1:]))
        return ratio(gains, losses)

    def on_bar(self, bar):
        try:
            strength = self.strength()
        except NotReady:
            return
        except (Shaky, ZeroDivisionError) as error:
            self.log(f"skipped: {error}")
            strength = 1.0
        else:
            assert strength >= 0, "gains and losses are positive"
        finally:
            self.checked = True
        if self.flat and strength > 1.5:
            self.target(0.95, trail=0.1)
        elif self.long and strength < 0.7:
            self.close()
