"""``trigate backtest FILE``: one file through the gates and the cage, beside buy and hold."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from evolution.plural import plural
from flows.commands.options import CageChoice, ConfigFile, DataSet, Json, Symbol, TimeframeText
from flows.output import plain, print_json, table

if TYPE_CHECKING:
    from fitness import Metrics
    from flows.settings import Settings
    from gates import Evaluation
    from runtime.kernel import RunConfig, RunReport
    from runtime.market import Bars
    from runtime.source import StrategySource

MAX_DRAWDOWN = 0.30


class Comparison(NamedTuple):
    """A finished run beside buy and hold on the same bars, cash and costs."""

    report: RunReport
    strategy: Metrics
    buy_and_hold: Metrics

    @property
    def beats(self) -> bool:
        """Strictly greater seed score; an undefined one never beats and is never beaten."""
        mine, theirs = self.strategy.seed_score, self.buy_and_hold.seed_score
        return mine is not None and theirs is not None and mine > theirs

    @property
    def vetoes(self) -> list[str]:
        """What would keep this run out of any selection."""
        broken = ["ruin: equity reached 0"] if self.report.ruined else []
        if self.strategy.max_drawdown > MAX_DRAWDOWN:
            broken.append(f"maximum drawdown {self.strategy.max_drawdown:.2%} (limit {MAX_DRAWDOWN:.0%})")
        return broken


def backtest(
    file: Annotated[str, typer.Argument(help="A strategy file.", metavar="FILE")],
    data: DataSet = None,
    symbol: Symbol = None,
    timeframe: TimeframeText = None,
    cash: Annotated[float | None, typer.Option(help="Starting cash (default 100000).")] = None,
    fee_bps: Annotated[float | None, typer.Option(help="Fee of each side, in basis points (default 10).")] = None,
    slippage_bps: Annotated[float | None, typer.Option(help="Adverse slippage in basis points (default 0).")] = None,
    margin: Annotated[
        bool, typer.Option("--margin", help="A margin account, which can short (default: cash).")
    ] = False,
    config: ConfigFile = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Run one strategy file beside buy and hold and print both."""
    from flows.commands.check import print_verdict, read_source
    from flows.opening import gate_cage
    from flows.settings import home_folder, load_settings
    from gates import Rejected, as_document

    source = read_source(file)
    home = home_folder()
    settings = load_settings(
        config, home, cage=cage, data=data, run__cash=cash, run__fee_bps=fee_bps, run__slippage_bps=slippage_bps
    )
    bars = chosen_bars(settings.data, home, symbol, timeframe)
    run = run_config_of(settings, margin=margin)
    with gate_cage({bars.instrument.symbol: bars}, settings.cage) as opened:
        evaluation = _evaluate(source, bars, run, settings, opened)
    if isinstance(evaluation.verdict, Rejected):
        print_json(as_document(evaluation.verdict)) if json else print_verdict(Path(file), evaluation.verdict)
        return 1
    end, reason = _end(evaluation)
    if end != "finished":
        print_json(_unfinished(source, end, reason)) if json else print(f"{plain(file)}: {end}: {plain(reason)}")
        return 1
    comparison = compare(evaluation.reports[0], bars, run)
    if json:
        print_json(_document(source, comparison))
    else:
        print_comparison(Path(file), bars, comparison)
    return 0


def chosen_bars(name: str, home: Path, symbol: str | None, timeframe: str | None) -> Bars:
    """A loose file whole; of a registered set only what the search may see, so that nobody peeks into the vault."""
    from flows.opening import dataset, loose_file
    from flows.problems import UsageProblem
    from runtime.market import SUFFIXES

    if Path(name).suffix.lower() in SUFFIXES or "/" in name:
        return loose_file(Path(name), symbol=symbol, timeframe=timeframe)
    known = dataset(name, home, timeframe=timeframe)
    chosen = symbol or known.symbols[0]
    if chosen not in known.bars:
        raise UsageProblem(f"symbol {chosen!r} is not in data set {known.name}; it has {', '.join(known.symbols)}")
    return known.bars[chosen]


def run_config_of(settings: Settings, *, margin: bool) -> RunConfig:
    """Cash and costs of the settings, in the kind of account that is asked for."""
    from runtime.kernel import AccountKind

    return replace(settings.run_config(), account=AccountKind.MARGIN if margin else AccountKind.CASH)


def _evaluate(source: StrategySource, bars: Bars, run: RunConfig, settings: Settings, cage: Any) -> Evaluation:
    from gates import CellJob, evaluate

    job = CellJob(key=bars.instrument.symbol, start=0, stop=len(bars), warmup=0)
    return evaluate(source, cage, [job], run, settings.cage_limits())


def _end(evaluation: Evaluation) -> tuple[str, str]:
    """How the run ended, as a stable name, and why in words."""
    outcome = evaluation.outcome
    if outcome is not None and not evaluation.reports:
        return outcome.end.value, outcome.reason
    report = evaluation.reports[0]
    failure = report.failure
    if failure is None:
        return report.end.value, report.end.value
    place = f" at line {failure.line}" if failure.line else ""
    return report.end.value, f"{failure.exception} in {failure.hook}{place}: {failure.message}"


def compare(report: RunReport, bars: Bars, run: RunConfig) -> Comparison:
    """The run beside buy and hold, both from the first bar that could be traded."""
    from fitness import measure
    from runtime.kernel import buy_and_hold

    first = report.first_tradable_bar
    start = len(bars) if first is None else first
    hold = buy_and_hold(bars, run, first_tradable_bar=start)
    return Comparison(report, measure(report, bars, run, first=start), measure(hold, bars, run, first=start))


def _document(source: StrategySource, comparison: Comparison) -> dict[str, Any]:
    report = comparison.report
    return {
        "end": "finished",
        "sha256": source.sha256,
        "first_tradable_bar": report.first_tradable_bar,
        "strategy": asdict(comparison.strategy),
        "buy_and_hold": asdict(comparison.buy_and_hold),
        "score": comparison.strategy.seed_score,
        "vetoes": comparison.vetoes,
        "fills": [fill._asdict() | {"ts": fill.ts.isoformat(), "side": fill.side.value} for fill in report.fills],
        "refused": [{"ts": each.ts.isoformat(), "reason": each.reason} for each in report.refused],
        "refused_count": report.refused_count,
        "open_orders": report.open_orders,
        "equity": report.equity.tolist(),
        "beats_buy_and_hold": comparison.beats,
    }


def _unfinished(source: StrategySource, end: str, reason: str) -> dict[str, Any]:
    return {"end": end, "sha256": source.sha256, "reason": reason}


LINES = (
    ("total return", "total_return"),
    ("CAGR", "cagr"),
    ("Sharpe", "sharpe"),
    ("Sortino", "sortino"),
    ("Calmar", "calmar"),
    ("max drawdown", "max_drawdown"),
    ("turnover a year", "turnover"),
    ("exposure", "exposure"),
    ("round trips", "trades"),
    ("fees", "fees"),
    ("final equity", "final_equity"),
    ("seed score", "seed_score"),
)


def print_comparison(file: Path, bars: Bars, comparison: Comparison) -> None:
    """The table that people read."""
    report = comparison.report
    print(
        f"{plain(str(file))} on {bars.instrument.symbol}, {len(bars)} bars of {bars.timeframe}, first tradable bar {report.first_tradable_bar}"
    )
    rows = [(name, getattr(comparison.strategy, key), getattr(comparison.buy_and_hold, key)) for name, key in LINES]
    table("", ("", "strategy", "buy and hold"), rows)
    refusals = (
        f"; {plural(report.refused_count, 'order')} refused, first: {plain(report.refused[0].reason)}"
        if report.refused
        else ""
    )
    print(f"beats buy and hold: {'yes' if comparison.beats else 'no'}; open orders: {report.open_orders}{refusals}")
    for veto in comparison.vetoes:
        print(f"vetoed: {veto}")
