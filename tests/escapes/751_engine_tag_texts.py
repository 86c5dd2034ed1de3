# id: 751
# kind: engine - tag texts
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for t in ('\x1b[31m', '\ud800', '\u202eabc', 'x' * 1000000, 'a\nb', '","side":"sell', '[/red]'):
                self.buy(1, tag=t)
                self.log(t[:80])
            print('\ud800\x07')
