# id: 777
# kind: engine - exception surface
class E(ValueError):
    def x(self):
        self.args = 1
        self.rule = 2
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            try:
                self.need(3)
            except Exception as e:
                self.log(str(e.args), e.rule)
                try:
                    e.args = ('x',)
                    self.log('args set ' + str(e))
                except Exception as f:
                    self.log(str(f))
                try:
                    e.rule = 'x'
                except Exception as f:
                    self.log(str(f))
                try:
                    e.add_note('x')
                except Exception as f:
                    self.log(str(f))
            try:
                self.nothing
            except AttributeError as e:
                self.log(e.name)
