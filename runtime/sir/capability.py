"""What each mode can do. What a mode cannot do is refused, or said in a warning where nothing is lost; never left out in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runtime.sir.problems import Problem, senseless
from runtime.sir.vocabulary import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.sir.document import Document


class Need(NamedTuple):
    """A part that a mode must have, or cannot have."""

    where: str
    value: Callable[[Document], object]
    why: str
    ask: str


_SIZING = Need(
    "/sizing",
    lambda d: d.sizing,
    "an entry needs a size",
    "how many units, or how much of the equity, to buy each time",
)
_DIRECTION = Need(
    "/execution/direction", lambda d: d.execution.direction, "an entry goes one way", "whether to go long or short"
)
_ORDER = Need(
    "/execution/order_type", lambda d: d.execution.order_type, "an entry is an order", "which order opens a position"
)
_PRODUCT = Need("/execution/product", lambda d: d.execution.product, "it decides how long a position may be held",
                "whether positions are intraday, delivery or carried forward")  # fmt: skip
_TRADING = (_SIZING, _DIRECTION, _ORDER, _PRODUCT)

REQUIRED: Mapping[Mode, tuple[Need, ...]] = {
    Mode.BACKTEST: _TRADING,
    Mode.PAPER: _TRADING,
    Mode.SCREEN: (),
    Mode.LIVE: (),
}

_PICKS = "a screener only names symbols, it trades nothing"
_AS_TRADER = "whether they want a screener or a backtest"
REFUSED: Mapping[Mode, tuple[Need, ...]] = {
    Mode.BACKTEST: (),
    Mode.PAPER: (
        Need("/date_range", lambda d: d.date_range, "paper trading begins when it is started and ends when it is stopped",
             "whether they want a backtest over these days"),
        Need("/legs", lambda d: d.legs, "legs are priced by a model, and on paper nobody would have traded at those prices",
             "whether a backtest at model prices is enough"),
    ),
    Mode.SCREEN: (
        Need("/sizing", lambda d: d.sizing, _PICKS, _AS_TRADER),
        Need("/risk", lambda d: d.risk, _PICKS, _AS_TRADER),
        Need("/legs", lambda d: d.legs, _PICKS, _AS_TRADER),
        *(Need(f"/execution/{name}", lambda d, name=name: getattr(d.execution, name), _PICKS, _AS_TRADER)  # type: ignore[misc]
          for name in ("direction", "order_type", "product", "price_offset_percent")),
        Need("/date_range", lambda d: d.date_range, "a screener looks at the last closed bar",
             "whether they want a backtest over these days"),
    ),
    Mode.LIVE: (),
}  # fmt: skip

WARNED: Mapping[Mode, tuple[Need, ...]] = {
    Mode.BACKTEST: (),
    Mode.PAPER: (),
    Mode.SCREEN: (Need("/signals/exit", lambda d: d.signals.exit, "a screener holds nothing that it could leave, so nobody reads it",
                       "nothing; or whether they want a backtest"),),
    Mode.LIVE: (),
}  # fmt: skip


class Judged(NamedTuple):
    """What a mode has to say about a document."""

    problems: list[Problem]
    warnings: list[Problem]


def judge_mode(document: Document, mode: Mode) -> Judged:
    """Hold a document to what the mode can do."""
    if mode is Mode.LIVE:
        refusal = senseless("live-refused", "/execution/mode", "the mode is live", "real money is out of scope: nothing here places a real order",
                           "whether paper trading will do")  # fmt: skip
        return Judged([refusal], [])
    missing = [
        senseless("mode-needs", need.where, f"it is missing and the mode is {mode.value}", need.why, need.ask)
        for need in REQUIRED[mode]
        if need.value(document) is None
    ]
    unable = [
        senseless("mode-refuses", need.where, f"it is given and the mode is {mode.value}", need.why, need.ask)
        for need in REFUSED[mode]
        if need.value(document) is not None
    ]
    warnings = [
        senseless("mode-ignores", need.where, f"it is given and the mode is {mode.value}", need.why, need.ask)
        for need in WARNED[mode]
        if need.value(document)
    ]
    return Judged(missing + unable, warnings)
