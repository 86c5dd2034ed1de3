"""The indicator registry: TA-Lib's functions as strategies may name them, with ranges, lookbacks and causality.

Built from TA-Lib's own metadata, so it follows the installed library. Two things that the metadata does not tell are
asked from the library itself: the range of each parameter (a lookback of -1 means out of range), and the lookback.
Every entry is causal bit for bit: the values of a prefix of the data are a prefix of the values (a test goes through
the whole registry). What cannot be is left out, with its reason in ``LEFT_OUT``.
"""

from __future__ import annotations

import difflib
import math
import sys
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from runtime.desk import IndicatorCall, StrategyError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[np.float64]]


def _import_talib() -> Any:
    """Import TA-Lib without the data-frame libraries that it looks for: they are 95% of its import time and memory."""
    absent = [name for name in ("pandas", "polars") if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # the documented way to make an import fail
    try:
        import talib.abstract  # noqa: PLC0415  # must come after the block above
    finally:
        for name in absent:
            del sys.modules[name]
    return talib


_talib = _import_talib()

SOURCES: Mapping[str, Callable[[Columns], NDArray[np.float64]]] = MappingProxyType(
    {
        "open": lambda c: c["open"],
        "high": lambda c: c["high"],
        "low": lambda c: c["low"],
        "close": lambda c: c["close"],
        "volume": lambda c: c["volume"],
        "hl2": lambda c: (c["high"] + c["low"]) / 2.0,
        "hlc3": lambda c: (c["high"] + c["low"] + c["close"]) / 3.0,
        "ohlc4": lambda c: (c["open"] + c["high"] + c["low"] + c["close"]) / 4.0,
        "typical": lambda c: (c["high"] + c["low"] + c["close"]) / 3.0,
    }
)
"""What ``source`` may be, for indicators over one price."""

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "MAVP": "needs a second series of periods",
        "ACOS": "undefined for prices",
        "ASIN": "undefined for prices",
        "COSH": "overflows for prices",
        "SINH": "overflows for prices",
        "EXP": "overflows for prices",
    }
)
"""TA-Lib functions that the registry does not offer, and why."""

# TA-Lib names outputs after its C parameters; these are the names that people use, beside TA-Lib's own.
_SHORT_OUTPUTS = {
    "upperband": "upper",
    "middleband": "middle",
    "lowerband": "lower",
    "macdsignal": "signal",
    "macdhist": "hist",
    "smisignal": "signal",
    "slowk": "k",
    "slowd": "d",
    "fastk": "k",
    "fastd": "d",
    "aroondown": "down",
    "aroonup": "up",
    "leadsine": "lead",
    "plusvi": "plus",
    "minusvi": "minus",
    "bullpower": "bull",
    "bearpower": "bear",
    "swinghigh": "high",
    "swinglow": "low",
    "haopen": "open",
    "hahigh": "high",
    "halow": "low",
    "haclose": "close",
}

# What a candlestick pattern says, as series of 1 and 0 beside TA-Lib's own 100, 0 and -100.
_PATTERN_READINGS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.bool_]]] = MappingProxyType(
    {"any": lambda v: v != 0.0, "bullish": lambda v: v > 0.0, "bearish": lambda v: v < 0.0}
)
_PATTERN_PREFIX = "CDL"

# Every TA-Lib period ends here; periods over 250 bars are refused later by their lookback, with a better message.
_MAX_INT = 100_000
# TA-Lib's own "any real number".
_MAX_REAL = 3e37


class ParamSpec(NamedTuple):
    """One parameter of an indicator."""

    kind: type
    """``int`` or ``float``."""
    default: float
    low: float
    high: float

    def describe(self) -> str:
        """The rule in words."""
        if self.kind is int:
            return f"a whole number from {self.low:g} to {self.high:g}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndicatorSpec:
    """One output of one TA-Lib function."""

    name: str
    """Canonical id: the function, ``FUNCTION.output`` with TA-Lib's own output name, or ``PATTERN.reading``."""
    function: str
    inputs: tuple[str, ...]
    """Columns in the order of TA-Lib's arguments; ``source`` stands for the caller's choice."""
    params: Mapping[str, ParamSpec]
    output: str
    output_index: int
    reading: str | None = None
    """``any``, ``bullish`` or ``bearish``: a pattern as a series of 1 and 0. None: the function's own values."""

    @property
    def is_boolean(self) -> bool:
        """Whether its values are 1 and 0 only."""
        return self.reading is not None

    @property
    def takes_source(self) -> bool:
        """Whether ``source`` means anything for it."""
        return "source" in self.inputs

    def lookback(self, params: Mapping[str, float] | None = None) -> int:
        """Rows at the start for which the indicator is undefined, with these parameters (defaults for the rest)."""
        return lookback(self.name, params or {})


@cache
def _handle(function: str) -> Any:
    # Making one costs more than a thousand questions to it.
    return _talib.abstract.Function(function)


def _ask_lookback(function: str, params: Mapping[str, float]) -> int:
    """TA-Lib's lookback; negative when a value is out of range. Parameters that are not given are at their defaults."""
    handle = _handle(function)
    handle.parameters = {**_defaults(function), **params}
    return int(handle.lookback)


@cache
def _defaults(function: str) -> Mapping[str, float]:
    return MappingProxyType(dict(_handle(function).parameters))


def _whole_range(is_good: Callable[[int], bool], default: int) -> tuple[int, int]:
    """The allowed whole numbers around an allowed one: periods begin at 0 to 3 and end far away, choices are few."""
    low = next((low for low in range(4) if is_good(low)), default)
    high = default
    if is_good(_MAX_INT):
        high = _MAX_INT
    else:
        while is_good(high + 1):
            high += 1
    return low, high


def _real_range(is_good: Callable[[float], bool], default: float) -> tuple[float, float]:
    """The allowed reals around an allowed one. Most are unbounded on a side; an end within reach is searched for."""
    low = -_MAX_REAL if is_good(-_MAX_REAL) else _real_end(is_good, default, -1.0)
    high = _MAX_REAL if is_good(_MAX_REAL) else _real_end(is_good, default, 1000.0)
    return low, high


def _real_end(is_good: Callable[[float], bool], good: float, bad: float) -> float:
    """The last allowed real towards a forbidden one: by bisection, then rounded to the end that was meant."""
    while abs(good - bad) > 1e-7:
        middle = (good + bad) / 2.0
        good, bad = (middle, bad) if is_good(middle) else (good, middle)
    meant = round(good, 6)
    return meant + 0.0 if is_good(meant) else good


def _params_of(function: str) -> Mapping[str, ParamSpec]:
    specs = {}
    for name, default in _defaults(function).items():

        def is_good(value: float, name: str = name) -> bool:
            return _ask_lookback(function, {name: value}) >= 0

        if isinstance(default, int):
            specs[name] = ParamSpec(int, default, *_whole_range(is_good, default))
        else:
            specs[name] = ParamSpec(float, default, *_real_range(is_good, default))
    return MappingProxyType(specs)


def _inputs_of(handle: Any) -> tuple[str, ...]:
    columns: list[str] = []
    single = "price" in handle.input_names
    for name, series in handle.input_names.items():
        if isinstance(series, list):
            columns.extend(series)
        else:
            columns.append("source" if single and name == "price" else series)
    return tuple(columns)


def _specs_of(function: str) -> dict[str, IndicatorSpec]:
    handle = _handle(function)
    inputs, params = _inputs_of(handle), _params_of(function)
    outputs = handle.output_names
    found: dict[str, IndicatorSpec] = {}
    for index, output in enumerate(outputs):
        name = function if len(outputs) == 1 else f"{function}.{output}"
        spec = IndicatorSpec(
            name=name, function=function, inputs=inputs, params=params, output=output, output_index=index
        )
        found[name] = spec
        if len(outputs) > 1 and output in _SHORT_OUTPUTS:
            found[f"{function}.{_SHORT_OUTPUTS[output]}"] = spec
    if function.startswith(_PATTERN_PREFIX):
        found |= {
            f"{function}.{each}": replace(spec, name=f"{function}.{each}", reading=each) for each in _PATTERN_READINGS
        }
    return found


def _build() -> Mapping[str, IndicatorSpec]:
    registry: dict[str, IndicatorSpec] = {}
    for function in sorted(_talib.get_functions()):
        if function not in LEFT_OUT:
            registry.update(_specs_of(function))
    return MappingProxyType(registry)


REGISTRY: Mapping[str, IndicatorSpec] = _build()
"""Every id that a strategy may name; short output names are further keys of the same entry."""


def check(name: object, source: object, params: Mapping[str, object]) -> IndicatorCall:
    """Judge a declaration and give it in canonical form: canonical name, all parameters filled in.

    Raises:
        StrategyError: unknown name, source or parameter, or a value that is out of range; names the valid ones.
    """
    spec = _find(name)
    if type(source) is not str or source not in SOURCES:
        raise StrategyError("indicator-source", f"source of {spec.name}: one of {', '.join(SOURCES)}")
    if not spec.takes_source and source != "close":
        raise StrategyError("indicator-source", f"{spec.name} reads {', '.join(spec.inputs)}; it takes no source")
    values = {name: param.default for name, param in spec.params.items()}
    for key, value in params.items():
        if key not in spec.params:
            raise StrategyError(
                "indicator-param", f"{spec.name} has no parameter {_quote(key)}{_nearest(key, spec.params)}"
            )
        values[key] = _value(spec, key, value)
    return IndicatorCall(spec.name, source, tuple(sorted(values.items())))


def _find(name: object) -> IndicatorSpec:
    if type(name) is not str:
        raise StrategyError("indicator-name", 'indicator(name) takes a text like "SMA" or "BBANDS.upper"')
    spec = REGISTRY.get(name)
    if spec is not None:
        return spec
    if name in LEFT_OUT:
        raise StrategyError("indicator-name", f"{name} is not offered: {LEFT_OUT[name]}")
    outputs = [known for known in REGISTRY if known.startswith(f"{name}.")]
    if outputs:
        raise StrategyError("indicator-name", f"{name} has several outputs: write one of {', '.join(outputs)}")
    raise StrategyError("indicator-name", f"unknown indicator {_quote(name)}{_nearest(name, REGISTRY)}")


def _value(spec: IndicatorSpec, key: str, value: object) -> float:
    param = spec.params[key]
    allowed = {int} if param.kind is int else {int, float}
    if type(value) not in allowed or not param.low <= value <= param.high:  # type: ignore[operator]  # a number here
        shown = repr(value) if type(value) in {int, float} and abs(value) < 1e300 else type(value).__name__  # type: ignore[arg-type]
        raise StrategyError("indicator-range", f"{spec.name}({key}={_short(shown)}): {key} is {param.describe()}")
    return param.kind(value)  # type: ignore[no-any-return]  # int or float


def _nearest(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word[:40].upper(), [k.upper() for k in known], n=3, cutoff=0.5)
    by_upper = {k.upper(): k for k in known}
    names = [by_upper[c] for c in close] or sorted(known)[:10]
    return f"; it has {', '.join(names)}" if len(known) < 20 and names else f"; did you mean {', '.join(names)}?"


def _quote(text: str) -> str:
    return repr(printable(text[:40]))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def lookback(name: str, params: Mapping[str, float]) -> int:
    """Rows at the start for which the indicator is undefined. Parameters must have passed ``check``."""
    return _lookback(REGISTRY[name].function, tuple(sorted(params.items())))


@lru_cache(maxsize=4096)
def _lookback(function: str, params: tuple[tuple[str, float], ...]) -> int:
    return _ask_lookback(function, dict(params))


def compute(name: str, columns: Columns, source: str, params: Mapping[str, float]) -> NDArray[np.float64]:
    """The indicator over whole columns, shape ``(n,)``, float64; NaN where it is undefined (start, or no finite value).

    Args:
        name: an id of ``REGISTRY``.
        columns: ``open``, ``high``, ``low``, ``close``, ``volume``, each of shape ``(n,)``, finite.
        source: one of ``SOURCES``; used by indicators over one price.
        params: values that passed ``check``; missing ones take TA-Lib's defaults.
    """
    spec = REGISTRY[name]
    arrays = [SOURCES[source](columns) if i == "source" else columns[i] for i in spec.inputs]
    values = {key: params.get(key, param.default) for key, param in spec.params.items()}
    result = getattr(_talib, spec.function)(*arrays, **values)
    if isinstance(result, tuple):
        result = result[spec.output_index]
    # Integer outputs carry zeros where they are undefined; one meaning for NaN serves all of them.
    out = np.asarray(result, dtype=np.float64)
    if spec.reading is not None:
        out = _PATTERN_READINGS[spec.reading](out).astype(np.float64)
    out[: lookback(name, values)] = math.nan
    out[~np.isfinite(out)] = math.nan
    return out
