# id: 765
# kind: engine - onbar on instance
class S(Strategy):
    def on_start(self):
        self.on_bar = lambda bar: self.log('other') if self.bar_count == 1 else None
    def on_bar(self, bar):
        self.log('judged')
