# id: 813
# kind: self - abc mixin class calls
from collections.abc import MutableSequence as MS, MutableSet as MSet, Sequence as Seq, Mapping as Mp, MutableMapping as MMp
class S(Strategy):
    def on_start(self):
        self.past = [1]
    def on_bar(self, bar):
        if self.bar_count == 1:
            for f in (MS.extend, MS.reverse, MS.pop, MSet.clear, Seq.count, Mp.get, MMp.update):
                try:
                    self.log(str(f(self.past, 1))[:60])
                except Exception as e:
                    self.log(str(e)[:60])
