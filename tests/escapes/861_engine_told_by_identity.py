class S(Strategy):
    def on_bar(self, bar):
        self.bar = bar
        if self.bar_count == 2:
            self.mytag = "t" + str(self.bar_count)
            self.buy(1.0, tag=self.mytag)
            self.lim = bar.close * 0.1
            self.buy(2.0, limit=self.lim)
        if self.bar_count == 3:
            self.log("limit", self.open_orders[0].limit is self.lim)

    def on_fill(self, fill):
        self.log("tag", fill.tag is self.mytag)
        now = self.history(1)[0]
        self.log("ts", fill.ts is now.ts, "price", fill.price is now.open)
