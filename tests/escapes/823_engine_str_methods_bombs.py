# id: 823
# kind: engine - str methods bombs
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for f in (lambda: 'x'.ljust(10**9), lambda: 'x'.zfill(10**10), lambda: '\t'.expandtabs(10**9), lambda: (1).to_bytes(10**9, 'big'), lambda: '%999999999d' % 3, lambda: format(3, '999999999d'), lambda: bytes(10**10)):
                try:
                    self.log(str(len(f())))
                except (MemoryError, OverflowError) as e:
                    self.log('E')
