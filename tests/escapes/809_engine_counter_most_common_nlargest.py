# id: 809
# kind: engine - counter most common nlargest
from collections import Counter
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            for f in (Counter.elements, Counter.total, Counter.most_common):
                try:
                    self.log(str(f(Counter('abc'))))
                except Exception as e:
                    self.log(str(e))
            try:
                self.log(str(Counter.fromkeys('a')))
            except Exception as e:
                self.log(str(e))
