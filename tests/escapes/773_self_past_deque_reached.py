# id: 773
# kind: self - past deque reached
class H:
    def __init__(self):
        self._past = 1
    def peek(self):
        return self._past
class D:
    close = 1e9
    ts = None
class S(Strategy):
    def on_start(self):
        self.sma = self.indicator('SMA', timeperiod=5)
    def on_bar(self, bar):
        if self.bar_count == 1:
            d = H.peek(self.sma)
            self.log(str(len(d)), str(d[-1])[:80])
            d.clear()
            try:
                self.log(str(self.equity))
            except Exception as e:
                self.log(str(e))
            d.append((D(), 5, 1.0))
            self.log(str(self.equity), str(self.bar_count))
