"""Features against the registry: the same one that Python strategies use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runtime.desk import MAX_LOOKBACK, StrategyError
from runtime.indicators import REGISTRY, check
from runtime.longer import rows_before
from runtime.model import Timeframe
from runtime.sir.build import longer_of
from runtime.sir.plan import PlannedIndicator
from runtime.sir.problems import Problem, pointer, senseless, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.indicators import IndicatorSpec
    from runtime.sir.document import Document, Feature

# A pattern by its plain name is the boolean "it is there, either way"; Python strategies read TA-Lib's 100, 0, -100 under it.
ANY_READING = ".any"


class Resolved(NamedTuple):
    """Features that the registry knows, in the order of the document; and what is wrong with the others."""

    indicators: list[PlannedIndicator]
    problems: list[Problem]


def resolve(document: Document) -> Resolved:
    """Look every feature up."""
    indicators, problems = [], duplicates("/features", [feature.id for feature in document.features])
    for index, feature in enumerate(document.features):
        found = _resolve(feature, pointer("features", index), document.market.timeframe)
        if isinstance(found, PlannedIndicator):
            indicators.append(found)
        else:
            problems += found
    return Resolved(indicators, problems)


def registry_name(written: str) -> str:
    """The registry's id for a feature's type."""
    return written + ANY_READING if written + ANY_READING in REGISTRY else written


def _resolve(feature: Feature, where: str, timeframe: str) -> PlannedIndicator | list[Problem]:
    bars = _bars_of(feature, where, timeframe)
    problems = bars if isinstance(bars, list) else []
    name = registry_name(feature.type)
    spec = REGISTRY.get(name)
    if spec is None:
        return [*problems, _unknown(feature, where)]
    problems += _params(feature, spec, where)
    problems += _source(feature, spec, where)
    if problems:
        return problems
    source = feature.source.value if feature.source else "close"
    try:
        call = check(name, source, _typed(feature, spec))
    except StrategyError as error:  # the registry has the last word
        return [
            senseless(
                "indicator", where, f"{feature.type} is refused", error.message, f"what {feature.id} should measure"
            )
        ]
    longer = longer_of(bars, Timeframe.parse(timeframe).seconds) if isinstance(bars, int) else None
    lookback = rows_before(call._replace(longer=longer))
    if lookback + 1 > MAX_LOOKBACK:
        on = "" if longer is None else f" on {feature.timeframe} bars"
        own = "" if longer is None else f" of {timeframe}"
        return [senseless("lookback-too-long", where, f"{feature.type}{on} needs {lookback + 1} bars{own} for one value",
                         f"no more than {MAX_LOOKBACK} bars of history are kept", "whether a shorter period will do")]  # fmt: skip
    return PlannedIndicator(id=feature.id, name=spec.name, source=source, params=call.params,
                            timeframe_s=bars if isinstance(bars, int) else None, lookback=lookback,
                            is_boolean=spec.is_boolean)  # fmt: skip


def _bars_of(feature: Feature, where: str, own: str) -> int | list[Problem] | None:
    """Seconds of the longer bars that a feature wants; None for the market's own."""
    if feature.timeframe in {None, own}:
        return None
    try:
        wanted, given = Timeframe.parse(str(feature.timeframe)), Timeframe.parse(own)
    except ValueError:
        return [_no_such_bars(feature, where, f"{feature.timeframe} or {own} is no step between bars",
                              "bars last from one minute to one week")]  # fmt: skip
    if str(wanted) != feature.timeframe:
        return [
            _no_such_bars(feature, where, f"{feature.timeframe} is {wanted} in other words", "one step has one name")
        ]
    if wanted == given:
        return None
    if wanted < given:
        return [_no_such_bars(feature, where, f"{wanted} is shorter than the market's {own}",
                              "shorter bars cannot be made from longer ones")]  # fmt: skip
    if wanted.seconds % given.seconds:
        return [_no_such_bars(feature, where, f"{wanted} is no whole multiple of the market's {own}",
                              "longer bars are made from whole bars of the market")]  # fmt: skip
    return wanted.seconds


def _no_such_bars(feature: Feature, where: str, what: str, why: str) -> Problem:
    return senseless("other-timeframe", f"{where}/timeframe", what, why,
                     f"which bars {feature.id} should be made on, or which bars to trade on")  # fmt: skip


def _typed(feature: Feature, spec: IndicatorSpec) -> dict[str, object]:
    return {key: spec.params[key].kind(value) for key, value in feature.params.items()}


def _unknown(feature: Feature, where: str) -> Problem:
    try:
        check(feature.type, "close", {})
    except StrategyError as error:
        why = error.message
    return senseless("unknown-indicator", f"{where}/type", f"{shown(feature.type)} is not in the registry", why,
                    f"which indicator {feature.id} should be")  # fmt: skip


def _params(feature: Feature, spec: IndicatorSpec, where: str) -> list[Problem]:
    problems = []
    for key, param in spec.params.items():
        if key not in feature.params:
            problems.append(
                senseless(
                    "missing-parameter",
                    f"{where}/params",
                    f"{feature.type} needs {key}",
                    f"it is {param.describe()}, and a document has no defaults",
                    f"which {key} for {feature.id}; {param.default:g} is usual",
                )
            )
            continue
        value = feature.params[key]
        if not param.low <= value <= param.high or (param.kind is int and not value.is_integer()):
            problems.append(
                senseless(
                    "bad-parameter",
                    f"{where}/params/{key}",
                    f"{key} of {feature.type} is {value:g}",
                    f"it is {param.describe()}",
                    f"which {key} for {feature.id}",
                )
            )
    has = f"it has {', '.join(spec.params)}" if spec.params else "it has none"
    problems += [
        senseless(
            "unknown-parameter",
            f"{where}/params/{key}",
            f"{feature.type} has no parameter {key}",
            has,
            f"what {key} was meant to do",
        )
        for key in feature.params
        if key not in spec.params
    ]
    return problems


def _source(feature: Feature, spec: IndicatorSpec, where: str) -> list[Problem]:
    if spec.takes_source and feature.source is None:
        return [senseless("missing-source", f"{where}/source", f"{feature.type} needs a source", "it reads one series",
                         f"which price {feature.id} reads, usually the close")]  # fmt: skip
    if feature.source is not None and not spec.takes_source:
        return [senseless("no-source", f"{where}/source", f"{feature.type} takes no source", f"it reads {', '.join(spec.inputs)}",
                         f"what {feature.source.value} was meant to do in {feature.id}")]  # fmt: skip
    return []


def duplicates(where: str, ids: Sequence[str]) -> list[Problem]:
    """A problem for each id of the list at ``where`` that was there before."""
    return [
        senseless(
            "duplicate-id",
            where + pointer(index, "id"),
            f"{each} names an earlier one, too",
            "an id names one thing",
            "which of the two is meant",
        )
        for index, each in enumerate(ids)
        if each in ids[:index]
    ]
