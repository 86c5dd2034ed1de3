class Node:
    me = None
    data = None


class S(Strategy):
    """Cell 1 leaves 150 MB in a cycle; cell 2 measures what room is left: a bit from one cell to the next."""

    def on_bar(self, bar):
        if self.bar_count == 1:
            try:
                bytearray(190 * 1024 * 1024)
                self.log("room")
            except MemoryError:
                self.log("no room")
        if bar.ts.year > 2012 and self.bar_count == 200:
            node = Node()
            node.me = node
            node.data = bytearray(100 * 1024 * 1024)
