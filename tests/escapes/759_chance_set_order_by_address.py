# id: 759
# kind: chance - set order by address
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            s = {None, Ellipsis, 3, 'a', print, len, object, list}
            self.log(str([str(x)[:12] for x in s]))
