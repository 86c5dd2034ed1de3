# id: 797
# kind: self - bus listeners reached
class H:
    def __init__(self):
        self._listeners = 1
    def peek(self):
        return self._listeners
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            d = H.peek(self.bus)
            self.log(str(d))
            d['x'] = [print] * 1000
