# id: 827
# kind: engine - json object hook giant
import json
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            import_me = 1
            for t in ('[' * 100000, '9' * 4000, '1e400', '{"a":' * 3000):
                try:
                    self.log(str(json.loads(t))[:40])
                except (ValueError, RecursionError) as e:
                    self.log(str(e)[:60])
