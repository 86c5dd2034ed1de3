"""``trigate data``: what there is to search on, and how it gets there. Nothing here shows a bar of a vault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evolution.plural import plural
from flows.commands.options import ConfigFile, Json, Symbol, TimeframeText
from flows.listing import Listing
from flows.output import plain, print_json, table

if TYPE_CHECKING:
    from runtime.market import Added, Bars, DataSet, DataSetSummary, QualityReport
    from runtime.market.feeds import Collected, FeedRequest, Fetched, Step

app = typer.Typer(cls=Listing, no_args_is_help=True, help="Data sets: built in, from files, from feeds.")

SetName = Annotated[str, typer.Argument(metavar="SET", help="A data set's name.")]
DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file of bars.")]
NewName = Annotated[str | None, typer.Option("--name", metavar="SET", help="The set's name (default: from the file).")]
Resample = Annotated[
    str | None, typer.Option("--resample", metavar="T", help="Join the bars to longer ones first: 4h, 1d, 1w ...")
]

# How many bars at each end are shown.
_SHOWN_BARS = 3
# How many places of one issue a document lists; it counts all of them.
_SHOWN_PLACES = 100
_BAR_COLUMNS = ("open of the bar", "open", "high", "low", "close", "volume")


@app.command("list")
def list_sets(json: Json = False) -> int:
    """Data sets with their symbols, length and origin."""
    from flows.opening import known_sets
    from flows.settings import home_folder

    sets = known_sets(home_folder())
    if json:
        print_json([_summary_document(each) for each in sets])
        return 0
    rows = [
        (
            each.name,
            each.label,
            " ".join(map(plain, each.symbols)),
            str(each.timeframe),
            each.bars,
            f"{each.first:%Y-%m-%d}",
            f"{each.last:%Y-%m-%d}",
            f"{each.vault_start:%Y-%m-%d}",
        )
        for each in sets
    ]
    table("", ("name", "label", "symbols", "step", "bars", "first", "last", "vault from"), rows)
    return 0


@app.command("show")
def show(name: SetName, symbol: Symbol = None, json: Json = False) -> int:
    """One data set: its split, what is suspicious in it, and its first and last bars before the vault."""
    from flows.opening import known_sets, named_set
    from flows.settings import home_folder

    home = home_folder()
    dataset = _narrowed(named_set(name, home), symbol)
    summary = next(each for each in known_sets(home) if each.name == name)
    if json:
        split = _summary_document(summary)
        print_json(split | {"sha256": dataset.sha256, "search": [_bars_document(one) for one in dataset.bars.values()]})
        return 0
    _print_set(dataset, summary)
    return 0


@app.command("add")
def add(
    file: DataFile,
    name: NewName = None,
    symbol: Symbol = None,
    timeframe: TimeframeText = None,
    calendar: Annotated[
        str | None, typer.Option("--calendar", help="around-the-clock, us-equities or currencies (default: inferred).")
    ] = None,
    resample: Resample = None,
    json: Json = False,
) -> int:
    """Register a file as a data set, with all its symbols; or add what is new in a file that has grown."""
    from flows.opening import FileChoice, added_file
    from flows.settings import home_folder

    home = home_folder()
    added = added_file(file, home, FileChoice(name, symbol, timeframe, calendar, resample))
    return _report_added(added, home, json=json)


@app.command("fetch")
def fetch(
    feed: Annotated[str, typer.Argument(metavar="FEED", help="A feed's name: [feeds.FEED] in trigate.toml.")],
    symbols: Annotated[list[str], typer.Option("--symbol", help="Symbol as the feed calls it; may be repeated.")],
    timeframe: Annotated[
        str, typer.Option("--timeframe", metavar="T", help="Step of the feed's bars: 15m, 1h, 1d ...")
    ],
    name: Annotated[str, typer.Option("--name", metavar="SET", help="The set's name.")],
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="Where the bars begin; not needed to bring a set up to date."),
    ] = None,
    stop: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Where they end (default: now).")] = None,
    resample: Resample = None,
    restart: Annotated[bool, typer.Option("--restart", help="Forget what an unfinished fetch has stored.")] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Fetch closed bars from a feed into a data set, or bring the set up to date. An interrupted fetch goes on."""
    from flows.opening import fetched_set
    from flows.settings import home_folder, load_settings

    home = home_folder()
    request = _feed_request(
        name=name, symbols=symbols, timeframe=timeframe, start=start, stop=stop, resample=resample, restart=restart
    )
    try:
        collected = fetched_set(load_settings(config, home).feeds, feed, request, home, _watch_step)
    except KeyboardInterrupt:
        from flows.problems import Interruption

        raise Interruption("stopped; what was fetched is kept, and the same command goes on") from None
    return _report_added(collected.added, home, json=json, collected=collected)


@app.command("check")
def check_file(file: DataFile, symbol: Symbol = None, timeframe: TimeframeText = None, json: Json = False) -> int:
    """Read a file of bars, and say what is wrong or suspicious, line by line."""
    from flows.opening import checked_file
    from flows.settings import home_folder

    reports = checked_file(file, home_folder(), symbol=symbol, timeframe=timeframe)
    usable = all(report.usable for report in reports.values())
    if json:
        print_json(
            {"usable": usable, "symbols": [{"symbol": each} | _report_document(one) for each, one in reports.items()]}
        )
        return 0 if usable else 1
    for each, report in reports.items():
        where = plain(str(file)) + (f", {plain(each)}" if len(reports) > 1 else "")
        for issue in report.errors:
            print(f"{where}: error: {plain(str(issue))}")
        for issue in report.warnings:
            print(f"{where}: warning: {plain(str(issue))}")
    print(f"{plain(str(file))}: {'nothing forbids its use' if usable else 'cannot be used'}")
    return 0 if usable else 1


@app.command("export")
def export(
    name: SetName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, .csv or .parquet.")],
    symbol: Symbol = None,
    json: Json = False,
) -> int:
    """Write a data set to a file: train and validation; the vault stays where it is."""
    from flows.opening import exported
    from flows.settings import home_folder

    written = exported(name, home_folder(), file, symbol=symbol)
    bars = sum(map(len, written.bars.values()))
    if json:
        print_json({"name": name, "file": str(file), "symbols": list(written.symbols), "bars": bars})
    else:
        print(f"{plain(str(file))}: {bars} bars of {name} before its vault")
    return 0


def _narrowed(dataset: DataSet, symbol: str | None) -> DataSet:
    from flows.problems import UsageProblem
    from runtime.market import DataError

    try:
        return dataset if symbol is None else dataset.only(symbol)
    except DataError as error:
        raise UsageProblem(str(error)) from error


def _feed_request(
    *,
    name: str,
    symbols: list[str],
    timeframe: str,
    start: str | None,
    stop: str | None,
    resample: str | None,
    restart: bool,
) -> FeedRequest:
    from flows.clock import now
    from flows.opening import moment, step
    from runtime.market.feeds import FeedRequest

    present = int(now().timestamp())
    return FeedRequest(
        name=name,
        symbols=tuple(symbols),
        timeframe=step(timeframe),
        start=None if start is None else moment("--from", start),
        stop=present if stop is None else min(present, moment("--to", stop)),
        resample_to=None if resample is None else step(resample),
        restart=restart,
    )


def _watch_step(step: Step) -> None:
    from runtime.market.calendar import stamp_text

    if sys.stderr.isatty():
        print(f"{plain(step.symbol)}: {step.bars} bars, up to {stamp_text(step.last)}", file=sys.stderr)


def _report_added(added: Added, home: Path, *, json: bool, collected: Collected | None = None) -> int:
    from flows.opening import known_sets, named_set

    dataset = named_set(added.name, home)
    summary = next(each for each in known_sets(home) if each.name == added.name)
    if json:
        document = {"outcome": added.outcome, "new_bars": added.new_bars} | _summary_document(summary)
        print_json(document if collected is None else document | {"fetched": _fetched_documents(collected)})
        return 0
    words = {
        "registered": f"registered as {added.name} with {plural(added.new_bars, 'bar')}",
        "grown": f"{added.name} has {added.new_bars} new bars, all of them in its vault",
        "unchanged": f"{added.name} holds all of these bars already",
    }
    print(words[added.outcome])
    if collected is not None:
        for symbol, fetched in collected.fetched.items():
            _print_fetched(symbol, fetched)
    _print_set(dataset, summary, bars=False)
    return 0


def _print_fetched(symbol: str, fetched: Fetched) -> None:
    from runtime.market import gaps
    from runtime.market.calendar import stamp_text

    print(
        f"{plain(symbol)}: {plural(len(fetched.bars), 'closed bar')} in {plural(fetched.requests, 'request')}, {fetched.resumed_bars} of them from "
        f"before; {fetched.not_closed} not closed yet"
    )
    missing = gaps(fetched.bars)
    for gap in missing[:_SHOWN_BARS]:
        print(f"{plain(symbol)}: no bars between {stamp_text(gap.after)} and {stamp_text(gap.before)}")
    if len(missing) > _SHOWN_BARS:
        print(f"{plain(symbol)}: {plural(len(missing), 'gap')} altogether; --json lists them")


def _print_set(dataset: DataSet, summary: DataSetSummary, *, bars: bool = True) -> None:
    from runtime.market import check_quality

    label = "" if summary.origin.startswith(summary.label) else f"{summary.label}, "
    print(f"{summary.name}: {label}{plain(summary.origin)}; {', '.join(dataset.symbols)}; {summary.timeframe}")
    print(
        f"train {summary.first:%Y-%m-%d} to {summary.train_stop:%Y-%m-%d}, validation {summary.validation_start:%Y-%m-%d} to "
        f"{summary.validation_stop:%Y-%m-%d}, vault from {summary.vault_start:%Y-%m-%d} to {summary.last:%Y-%m-%d}"
    )
    for symbol, one in dataset.bars.items():
        print(f"{symbol}: {len(one)} bars before the vault, {one.instrument.bars_per_year:.7g} a year")
        for issue in check_quality(one).warnings:
            print(f"{symbol}: warning: {issue}")
        if bars:
            rows = one.rows()
            ends = rows if len(rows) <= 2 * _SHOWN_BARS else rows[:_SHOWN_BARS] + rows[-_SHOWN_BARS:]
            table(
                "",
                _BAR_COLUMNS,
                [(f"{bar.ts:%Y-%m-%d %H:%M}", *(f"{value:.10g}" for value in bar[1:])) for bar in ends],
            )


def _summary_document(summary: DataSetSummary) -> dict[str, Any]:
    moments = ("first", "last", "train_stop", "validation_start", "validation_stop", "vault_start")
    return {
        "name": summary.name,
        "label": summary.label,
        "symbols": list(summary.symbols),
        "timeframe": str(summary.timeframe),
        "bars": summary.bars,
        "origin": summary.origin,
        "registered": summary.registered,
    } | {moment: getattr(summary, moment).isoformat() for moment in moments}


def _bars_document(bars: Bars) -> dict[str, Any]:
    """One symbol's search part: figures, issues, gaps, and the bars at both ends."""
    from runtime.market import check_quality

    rows = [dict(zip(("ts", *bar._fields[1:]), (bar.ts.isoformat(), *bar[1:]), strict=True)) for bar in bars.rows()]
    return {
        "symbol": bars.instrument.symbol,
        "bars": len(bars),
        "bars_per_year": bars.instrument.bars_per_year,
        "sha256": bars.sha256,
        "first_bars": rows[:_SHOWN_BARS],
        "last_bars": rows[-_SHOWN_BARS:],
        "gaps": _gap_documents(bars),
    } | _report_document(check_quality(bars))


def _gap_documents(bars: Bars) -> list[dict[str, str]]:
    from runtime.market import gaps
    from runtime.market.calendar import stamp_text

    return [{"after": stamp_text(gap.after), "before": stamp_text(gap.before)} for gap in gaps(bars)]


def _fetched_documents(collected: Collected) -> list[dict[str, Any]]:
    return [
        {
            "symbol": symbol,
            "bars": len(fetched.bars),
            "requests": fetched.requests,
            "resumed_bars": fetched.resumed_bars,
            "not_closed": fetched.not_closed,
            "gaps": _gap_documents(fetched.bars),
        }
        for symbol, fetched in collected.fetched.items()
    ]


def _report_document(report: QualityReport) -> dict[str, Any]:
    return {
        kind: [
            {
                "rule": issue.rule,
                "count": len(issue.places),
                "places": list(issue.places[:_SHOWN_PLACES]),
                "message": issue.message,
            }
            for issue in issues
        ]
        for kind, issues in (("errors", report.errors), ("warnings", report.warnings))
    }
