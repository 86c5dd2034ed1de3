# id: 733
# kind: engine - forwardref parse bomb
from typing import List
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            try:
                self.log(str(List['(' * 900 + ')' * 900]))
            except Exception as e:
                self.log(str(e)[:80])
            try:
                self.log(str(List['-' * 100000 + '1'])[:50])
            except Exception as e:
                self.log(str(e)[:80])
