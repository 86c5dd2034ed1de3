from dataclasses import dataclass, field
from enum import Enum, auto


class Phase(Enum):
    WAITING = auto()
    HOLDING = auto()
    COOLING = auto()


@dataclass
class State:
    phase: Phase = Phase.WAITING
    peak: float = 0.0
    bars_in_phase: int = 0
    exits: list[float] = field(default_factory=list)

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.bars_in_phase = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    give_back: float = 0.06
    cooling_bars: int = 5


class PhasedBreakout(Strategy):
    settings = Settings()

    def on_start(self):
        self.state = State()
        self.upper = self.indicator("MAX", source="high", timeperiod=20)

    def on_bar(self, bar):
        state = self.state
        state.bars_in_phase += 1
        if state.phase is Phase.WAITING and bar.close > self.upper[-2]:
            self.buy()
            state.enter(Phase.HOLDING)
            self.state.peak = bar.close
        elif state.phase is Phase.HOLDING:
            self.state.peak = max(self.state.peak, bar.close)
            if bar.close < state.peak * (1 - self.settings.give_back):
                self.close()
                state.exits.append(bar.close)
                state.enter(Phase.COOLING)
        elif state.phase is Phase.COOLING and state.bars_in_phase > self.settings.cooling_bars:
            state.enter(Phase.WAITING)
