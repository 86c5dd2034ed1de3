def smoother(alpha):
    """An exponential average as a closure."""
    state = []

    def update(value):
        state.append(value if not state else alpha * value + (1 - alpha) * state[-1])
        del state[:-1]
        return state[-1]

    return update


def compose(*functions):
    def composed(value):
        for function in functions:
            value = function(value)
        return value

    return composed


class Smoothed(Strategy):
    def on_start(self):
        self.fast = compose(smoother(0.4), smoother(0.4))
        self.slow = compose(smoother(0.1), smoother(0.2))
        self.before = None

    def on_bar(self, bar):
        gap = self.fast(bar.close) - self.slow(bar.close)
        before, self.before = self.before, gap
        if before is None:
            return
        if self.flat and before <= 0 < gap:
            self.buy(stop_loss=0.09)
        if self.long and gap < 0 <= before:
            self.close()
