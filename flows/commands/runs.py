"""``trigate runs`` and ``trigate report``: what was tried, where it fell, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import Json
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from evolution.ledger import TrialLedger
    from evolution.llm.spending import Spending
    from evolution.pool import Pool
    from evolution.report import RunSummary

app = typer.Typer(no_args_is_help=True, help="Runs and their trials, kept for ever.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of it.")]


@app.command("list")
def list_runs(
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest ones.")] = None, json: Json = False
) -> int:
    """Runs, newest first."""
    from evolution.pool import listing_document

    ledger, _ = _stores()
    listings = ledger.runs(limit=limit)
    if json:
        print_json([listing_document(each) for each in listings])
    elif not listings:
        print("no runs yet; `trigate evolve` makes one")
    else:
        rows = [
            (
                each.record.id,
                each.record.status.value,
                each.record.facts.dataset,
                each.funnel.total,
                each.best_score,
                each.entries,
                f"{each.record.created:%Y-%m-%d %H:%M}",
            )
            for each in listings
        ]
        table("", ("id", "status", "data", "trials", "best score", "pool entries", "began (UTC)"), rows)
    return 0


@app.command("show")
def show(
    run_id: RunId,
    refusals: Annotated[
        bool, typer.Option("--refusals", help="Every candidate that admission refused, check by check.")
    ] = False,
    json: Json = False,
) -> int:
    """One run: its funnel, its best, its refusals; with --json every trial."""
    from evolution.llm.spending import spending_document
    from evolution.pool import run_document

    ledger, pool = _stores()
    summary = _summary(ledger, pool, run_id)
    if not json:
        print(render(summary), end="")
        _print_spending(summary.record.id)
        if refusals:
            _print_refusals(pool, summary)
        return 0
    record = summary.record
    document = run_document(record, summary.funnel, ledger.trials(record.id))
    document["refusals"] = [
        {
            "candidate": each.candidate_id,
            "check": each.check,
            "figure": each.figure,
            "limit": each.limit,
            "sentence": each.sentence,
        }
        for each in pool.refusals(record.id)
    ]
    document["entries"] = [entry.id for entry in summary.entries]
    document["spending"] = spending_document(_spent(record.id))
    print_json(document)
    return 0


def _spent(run_id: str) -> Spending:
    from evolution.llm.ledger import spending
    from flows.opening import engine
    from flows.settings import home_folder

    return spending(engine(home_folder()), run_id)


def _print_spending(run_id: str) -> None:
    """Calls, tokens and money of the models; nothing for a run without them."""
    from evolution.llm.spending import spending_lines

    lines = spending_lines(_spent(run_id))
    if lines:
        print("\nModels")
        for line in lines:
            print(f"  {plain(line)}")


def _print_refusals(pool: Pool, summary: RunSummary) -> None:
    """In the order in which the checks are made."""
    from evolution.pool import CHECKS

    order = {check.name: place for place, check in enumerate(CHECKS)}
    found = sorted(
        pool.refusals(summary.record.id), key=lambda each: (order.get(each.check, len(order)), each.candidate_id)
    )
    rows = [(each.check, each.candidate_id, each.figure, each.limit, each.sentence) for each in found]
    print()
    table("refused at admission", ("check", "candidate", "figure", "limit", "in words"), rows)


def report(run_id: RunId, markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False) -> int:
    """The report of one run, for reading in the morning."""
    from evolution.report import render_markdown

    summary = _summary(*_stores(), run_id)
    print(render_markdown(summary) if markdown else render(summary), end="")
    if not markdown:
        _print_spending(summary.record.id)
    return 0


def render(summary: RunSummary) -> str:
    """The report as text."""
    from evolution.report import render_text

    return render_text(summary)


def _stores() -> tuple[TrialLedger, Pool]:
    from evolution.ledger import TrialLedger
    from evolution.pool import Pool
    from flows.clock import now
    from flows.opening import engine
    from flows.settings import home_folder

    opened = engine(home_folder())
    return TrialLedger(opened, now=now), Pool(opened, now=now)


def _summary(ledger: TrialLedger, pool: Pool, run_id: str) -> RunSummary:
    from evolution.ledger import UnknownIdError
    from evolution.report import run_summary

    try:
        return run_summary(ledger, pool, run_id)
    except UnknownIdError as error:
        raise UsageProblem(plain(str(error))) from None
