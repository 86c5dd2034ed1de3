from enum import IntEnum, Flag, StrEnum, auto, unique
import enum


@unique
class Mood(IntEnum):
    FEAR = -1
    CALM = 0
    GREED = 1


class Why(Flag):
    NOTHING = 0
    TREND = auto()
    VOLUME = auto()
    BOTH = TREND | VOLUME


class Tag(StrEnum):
    ENTRY = "entry"
    EXIT = "exit"


Speed = enum.Enum("Speed", ["SLOW", "FAST"])


class Moody(Strategy):
    def on_start(self):
        self.ema = self.indicator("EMA", timeperiod=40)
        self.usual = self.indicator("SMA", source="volume", timeperiod=20)

    def mood(self, bar):
        distance = bar.close / self.ema[-1] - 1
        return Mood.GREED if distance > 0.03 else Mood.FEAR if distance < -0.05 else Mood.CALM

    def why(self, bar):
        reasons = Why.NOTHING
        if self.ema[-1] > self.ema[-2]:
            reasons |= Why.TREND
        if bar.volume > self.usual[-1]:
            reasons |= Why.VOLUME
        return reasons

    def on_bar(self, bar):
        mood, why = self.mood(bar), self.why(bar)
        speed = Speed.FAST if why == Why.BOTH else Speed.SLOW
        if self.flat and mood >= Mood.CALM and Why.TREND in why:
            self.target(0.9 if speed is Speed.FAST else 0.4, tag=Tag.ENTRY.value)
        elif self.long and mood == Mood.FEAR:
            self.close(tag=str(Tag.EXIT))
