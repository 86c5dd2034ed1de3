# id: 811
# kind: self - chainmap maps foreign
from collections import ChainMap
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for o in (self, bar, self.bus, self.clock, self.instrument, print, len):
                try:
                    self.log(str(ChainMap.new_child(o, {}))[:90])
                except Exception as e:
                    self.log(str(e)[:90])
