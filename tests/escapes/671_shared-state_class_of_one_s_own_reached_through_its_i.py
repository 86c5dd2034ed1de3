# id: 671
# kind: shared-state - class of one's own reached through its instance
class K:
    count = []


class S(Strategy):
    def on_bar(self, bar):
        K().count.append(1)
        self.log(len(K().count))
