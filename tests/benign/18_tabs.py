class Tabs(Strategy):
	"""Indented with tabs."""

	def on_start(self):
		self.cci = self.indicator("CCI", timeperiod=20)

	def on_bar(self, bar):
		if self.flat and self.cci[-1] < -80:
			self.buy(stop_loss=.1)
		elif self.long and self.cci[-1] > 1E2:
			self.close()
