# id: 779
# kind: engine - raise rewritten strategy error
class X:
    def x(self):
        self.args = 1
class S(Strategy):
    def on_bar(self, bar):
        try:
            self.need(3)
        except Exception as e:
            e.args = ('\x1b[31m evil [/red]',)
            raise e
