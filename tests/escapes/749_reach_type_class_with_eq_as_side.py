# id: 749
# kind: reach - type class with eq as side
from collections import Counter
T = Counter.copy(list)
W = T('W', (), {'__eq__': lambda s, o: True, '__hash__': lambda s: 1, '__class__': property(lambda s: float), '__float__': lambda s: 1.0, '__index__': lambda s: 1, '__lt__': lambda s, o: True, '__gt__': lambda s, o: True, '__bool__': lambda s: True, '__str__': lambda s: 'x', '__repr__': lambda s: '5.0'})
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.submit(Order(side=W(), quantity=W(), type=W(), tag=W()))
            self.buy(W())
            self.cancel(W())
