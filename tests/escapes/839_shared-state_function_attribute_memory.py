# id: 839
# kind: shared-state - function attribute memory
class H:
    def poke(self, v):
        self.memo = v
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1 and self.instrument.symbol != "SMOKE":
            try:
                self.log("seen " + str(Strategy.crossing.memo))
            except AttributeError:
                pass
            try:
                self.log("seen " + str(Bar._make.memo))
            except AttributeError:
                pass
            H.poke(MessageBus.subscribe, bar.close)
            self.log(str(MessageBus.subscribe.memo))
    def on_start(self):
        if self.instrument.symbol != "SMOKE":
            try:
                self.log("carried " + str(MessageBus.subscribe.memo))
            except AttributeError:
                self.log("nothing yet")
