"""``trigate runs`` and ``trigate report``: what was tried, where it fell, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import Json
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from evolution.ledger import TrialLedger
    from evolution.pool import Pool
    from evolution.report import RunSummary
    from evolution.run import RunRecord

app = typer.Typer(no_args_is_help=True, help="Runs and their trials, kept for ever.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of it.")]


@app.command("list")
def list_runs(
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest ones.")] = None, json: Json = False
) -> int:
    """Runs, newest first."""
    from evolution.pool import listing_document
    from evolution.report import CUT_SHORT, resume_command

    ledger, _ = _stores()
    listings = ledger.runs(limit=limit)
    cut_short = [each.record.id for each in listings if _is_cut_short(each.record)]
    if json:
        print_json([listing_document(each) | _way_on(each.record) for each in listings])
    elif not listings:
        print("no runs yet; `trigate evolve` makes one")
    else:
        rows = [
            (
                each.record.id,
                CUT_SHORT if each.record.id in cut_short else each.record.status.value,
                each.record.facts.dataset,
                each.funnel.total,
                each.best_score,
                each.entries,
                f"{each.record.created:%Y-%m-%d %H:%M}",
            )
            for each in listings
        ]
        table("", ("id", "status", "data", "trials", "best score", "pool entries", "began (UTC)"), rows)
        for run_id in cut_short:
            print(f"{run_id} was cut short; go on with it: {resume_command(run_id)}")
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
        if refusals:
            _print_refusals(pool, summary)
        return 0
    record = summary.record
    document = run_document(record, summary.funnel, ledger.trials(record.id)) | _way_on(record)
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
    document["spending"] = spending_document(summary.spending)
    print_json(document)
    return 0


def _is_cut_short(record: RunRecord) -> bool:
    """Whether a run is stored as running while nobody works on it any more."""
    from evolution.run import RunStatus
    from flows.leading import is_cut_short
    from flows.opening import engine
    from flows.settings import home_folder

    if record.status is not RunStatus.RUNNING:
        return False
    home = home_folder()
    return is_cut_short(engine(home), home, record)


def _way_on(record: RunRecord) -> dict[str, Any]:
    """Status and resume command for ``--json``: what is stored, but for a run whose process is gone."""
    from evolution.report import CUT_SHORT, resume_command
    from evolution.run import RunStatus

    is_cut_short = _is_cut_short(record)
    can_go_on = is_cut_short or record.status in {RunStatus.INTERRUPTED, RunStatus.FAILED}
    return {
        "status": CUT_SHORT if is_cut_short else record.status.value,
        "resume": resume_command(record.id) if can_go_on else None,
    }


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
        return run_summary(ledger, pool, run_id, is_cut_short=_is_cut_short(ledger.run(run_id)))
    except UnknownIdError as error:
        raise UsageProblem(plain(str(error))) from None
