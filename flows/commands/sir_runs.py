"""``trigate sir backtest`` and ``trigate sir screen``: a document on bars."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evolution.plural import plural
from flows.commands.backtest import chosen_bars, compare, print_comparison, run_config_of
from flows.commands.options import ConfigFile, DataSet, Json, Symbol
from flows.commands.sir import DocumentFile, compile_file, print_compilation, verdict_document
from flows.output import plain, print_json, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.kernel import RunConfig
    from runtime.market import Bars
    from runtime.sir.compile import Compiled
    from runtime.sir.plan import ExecutionPlan
    from runtime.sir.problems import Problem
    from runtime.sir.screen import Screened


def backtest(
    file: DocumentFile,
    data: DataSet = None,
    symbol: Symbol = None,
    bar_by_bar: Annotated[
        bool, typer.Option("--bar-by-bar", help="Judge the rules on each bar, as on paper (default: on columns).")
    ] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Run a document beside buy and hold, and print both."""
    from flows.settings import home_folder, load_settings
    from runtime.sir.vocabulary import Direction

    compiled = _compiled(file, "backtest", json=json)
    if compiled is None:
        return 1
    plan, home = compiled.plan, home_folder()
    settings = load_settings(config, home, data=data)
    bars = chosen_bars(settings.data, home, _chosen(plan, symbol), None)
    wrong = _misfit(plan, bars)
    if wrong is not None:
        return _refuse(file, wrong, json=json)
    is_short = plan.execution is not None and plan.execution.direction is Direction.SHORT
    run = run_config_of(settings, margin=is_short)
    if plan.legs:
        return _structure(file, compiled, bars, run, json=json)
    return _single(file, compiled, bars, run, bar_by_bar=bar_by_bar, json=json)


def screen(file: DocumentFile, data: DataSet = None, config: ConfigFile = None, json: Json = False) -> int:
    """Say which symbols of a data set fire on its last bar before the vault."""
    from flows.settings import home_folder, load_settings
    from runtime.sir.screen import screen as judge

    compiled = _compiled(file, "screen", json=json)
    if compiled is None:
        return 1
    plan, home = compiled.plan, home_folder()
    settings = load_settings(config, home, data=data)
    universe = _universe(plan, settings.data, home)
    wrong = next((reason for bars in universe.values() if (reason := _misfit(plan, bars)) is not None), None)
    if wrong is not None:
        return _refuse(file, wrong, json=json)
    found = judge(plan, universe)
    if json:
        print_json(
            {"sha256": plan.document_sha256, "data": settings.data, "symbols": [_screened(each) for each in found]}
        )
        return 0
    rows = [
        (
            plain(each.symbol),
            "" if each.ts is None else f"{each.ts:%Y-%m-%d %H:%M}",
            f"{plural(each.short_of, 'bar')} short" if each.short_of else "fires" if each.fires else "no",
            " ".join(f"{name}={value:.6g}" for name, value in each.values),
        )
        for each in found
    ]
    table("", ("symbol", "last bar", "entry", "values"), rows)
    return 0


def _compiled(file: str, mode: str, *, json: bool) -> Compiled | None:
    """The document in that mode; when it is refused, that is printed."""
    from runtime.sir.compile import Compiled

    compiled = compile_file(file, mode)
    if isinstance(compiled, Compiled):
        return compiled
    print_json(verdict_document(compiled)) if json else print_compilation(file, compiled)
    return None


def _chosen(plan: ExecutionPlan, symbol: str | None) -> str | None:
    """The symbol that was asked for, else the document's first."""
    return symbol or (plan.universe[0].symbol if plan.universe else None)


def _universe(plan: ExecutionPlan, name: str, home: Path) -> Mapping[str, Bars]:
    """Bars of the document's symbols, or of all of the set's."""
    from flows.opening import dataset
    from flows.problems import UsageProblem

    known = dataset(name, home)
    wanted = [each.symbol for each in plan.universe] or list(known.symbols)
    missing = [each for each in wanted if each not in known.bars]
    if missing:
        raise UsageProblem(
            f"data load: symbol {missing[0]!r} is not in data set {known.name}; it has {', '.join(known.symbols)}"
        )
    return {each: known.bars[each] for each in wanted}


def _misfit(plan: ExecutionPlan, bars: Bars) -> Problem | None:
    from runtime.model import Timeframe
    from runtime.sir.build import stretch

    if plan.timeframe_s != bars.timeframe.seconds:
        return _no_bars(
            "/market/timeframe",
            f"the document is written for bars of {Timeframe(plan.timeframe_s)}",
            f"{bars.instrument.symbol} has bars of {bars.timeframe}",
            "for other bars with --data, or for a document for these",
        )
    cut = stretch(bars, plan.date_range, plan.timezone)
    if plan.date_range is not None and cut.start >= len(cut.bars):
        return _no_bars(
            "/date_range",
            f"there are no bars from {plan.date_range.start} to {plan.date_range.end}",
            "the search's part of the data may end before that",
            "for other days; trigate data show tells which there are",
        )
    return None


def _no_bars(where: str, what: str, why: str, ask: str) -> Problem:
    from runtime.sir.problems import Category, Problem

    return Problem(category=Category.DATA_LOAD, rule="no-such-bars", where=where, what=what, why=why, ask=ask)


def _refuse(file: str, problem: Problem, *, json: bool) -> int:
    if json:
        print_json({"end": "refused", "reason": problem.line, "findings": [problem.as_document()]})
    else:
        print(f"{plain(file)}: {plain(problem.line)}")
    return 1


def _single(file: str, compiled: Compiled, bars: Bars, run: RunConfig, *, bar_by_bar: bool, json: bool) -> int:
    from runtime.sir.build import build, stretch
    from runtime.sir.vector import run_event, run_signals

    plan = compiled.plan
    cut = stretch(bars, plan.date_range, plan.timezone)
    run = replace(run, start=max(run.start, cut.start))
    adapter = run_event if bar_by_bar else run_signals
    report = adapter(build(plan), cut.bars, run)
    comparison = compare(report, cut.bars, run)
    if json:
        print_json(
            {
                "end": "finished",
                "sha256": plan.document_sha256,
                "strategy": asdict(comparison.strategy),
                "buy_and_hold": asdict(comparison.buy_and_hold),
                "orders": [entry._asdict() for entry in report.order_log],
                "fills": [
                    fill._asdict() | {"ts": fill.ts.isoformat(), "side": fill.side.value} for fill in report.fills
                ],
                "refused_count": report.refused_count,
                "open_orders": report.open_orders,
                "equity": report.equity.tolist(),
                "beats_buy_and_hold": comparison.beats,
            }
        )
    else:
        print_comparison(Path(file), cut.bars, comparison)
        print(f"document {plan.document_sha256}")
    return 0


def _structure(file: str, compiled: Compiled, bars: Bars, run: RunConfig, *, json: bool) -> int:
    from runtime.sir.build import stretch
    from runtime.sir.structure import MODEL_PRICED, run_structure

    plan = compiled.plan
    cut = stretch(bars, plan.date_range, plan.timezone)
    run = replace(run, start=max(run.start, cut.start))
    done = run_structure(plan, cut.bars, run)
    if json:
        trades: list[dict[str, Any]] = [
            trade._asdict() | {"legs": [leg._asdict() for leg in trade.legs]} for trade in done.trades
        ]
        print_json(
            {
                "end": "finished",
                "sha256": plan.document_sha256,
                "model_priced": MODEL_PRICED,
                "structures": trades,
                "refused": [{"row": row, "reason": reason} for row, reason in done.refused],
                "open_units": done.open_units,
                "ruined": done.ruined,
                "equity": done.equity.tolist(),
            }
        )
        return 0
    won = sum(trade.pnl > 0.0 for trade in done.trades)
    print(f"{plain(file)} on {bars.instrument.symbol}, {len(cut.bars)} bars of {bars.timeframe}")
    print(f"MODEL PRICES: {MODEL_PRICED}")
    rows = [
        ("structures", len(done.trades)),
        ("of them won", won),
        ("fees", sum(trade.fees for trade in done.trades)),
        ("final equity", float(done.equity[-1])),
        ("not opened", len(done.refused)),
    ]
    table("", ("", "strategy"), rows)
    if done.refused:
        print(f"first not opened: row {done.refused[0][0]}: {done.refused[0][1]}")
    if done.ruined:
        print("ruined: equity reached 0")
    print(f"document {plan.document_sha256}")
    return 0


def _screened(each: Screened) -> dict[str, Any]:
    return each._asdict() | {"ts": None if each.ts is None else each.ts.isoformat(), "values": dict(each.values)}
