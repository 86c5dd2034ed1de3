# id: 731
# kind: engine - str codecs
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for c in ('rot13','idna','punycode','bz2','zip','uu','mbcs','cp037','utf-7','big5','unicode_escape'):
                try:
                    self.log(c, str(b'abc', c))
                except Exception as e:
                    self.log(c, str(e)[:100])
