"""``trigate runs`` and ``trigate report``: what was tried, where it fell, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evolution.plural import plural
from flows.commands.options import Json
from flows.commands.store import in_mib
from flows.listing import Listing
from flows.output import plain, print_json, table
from flows.problems import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from evolution.ledger import TrialLedger
    from evolution.pool import Pool
    from evolution.run import RunRecord
    from evolution.summary import RunSummary
    from flows.retention import Plan, Pruned

app = typer.Typer(cls=Listing, no_args_is_help=True, help="Runs and their trials, kept for ever.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of it.")]


@app.command("list")
def list_runs(
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest ones.")] = None, json: Json = False
) -> int:
    """Runs, newest first."""
    from evolution.pool import listing_document
    from evolution.report import CUT_SHORT, resume_command

    ledger, _ = stores()
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
        why = {each.record.id: _because(each.record) for each in listings}
        table("", ("id", "status", "data", "trials", "best score", "pool entries", "began (UTC)"), rows)
        for run_id in cut_short:
            print(f"{run_id} was cut short{why[run_id]}; go on with it: {resume_command(run_id)}")
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

    ledger, pool = stores()
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


@app.command("prune")
def prune(
    older_than: Annotated[
        int, typer.Option("--older-than", metavar="DAYS", min=1, help="Only runs that ended so many days ago.")
    ] = 90,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this it only says what would go.")] = False,
    json: Json = False,
) -> int:
    """Take the bulk out of old finished runs, here and in Prefect's history. What is counted or decided never goes."""
    from datetime import timedelta

    from evolution.pool import Pool
    from flows import retention
    from flows.clock import now
    from flows.opening import engine
    from flows.settings import home_folder

    home = home_folder()
    opened, at = engine(home), now()
    before = at - timedelta(days=older_than)
    planned = retention.plan(home, opened, Pool(opened, now=now), before)
    done = retention.carry_out(home, opened, planned, before=before, at=at) if yes else None
    if json:
        print_json(_pruning_document(planned, done))
        return 0
    _print_plan(planned, older_than)
    if done is None:
        print("nothing was touched; --yes does it")
        return 0
    print(
        f"done: {plural(done.runs, 'run')}, {plural(done.files, 'file')}"
        + (f", {plural(done.flow_runs, 'flow run')}" if done.flow_runs else "")
    )
    if done.store_before is not None and done.store_after is not None:
        print(f"database: {in_mib(done.store_before)} before, {in_mib(done.store_after)} now")
    if done.note:
        print(done.note)
    return 0


def _print_plan(planned: Plan, days: int) -> None:
    rows = [
        (run.run_id, f"{run.created:%Y-%m-%d}", run.trials, in_mib(run.cell_bytes), in_mib(run.exchange_bytes))
        for run in planned.runs
    ]
    if rows:
        table("", ("run", "began (UTC)", "trials", "cells of scorecards", "talks with models"), rows)
    else:
        print(f"no run that ended more than {plural(days, 'day')} ago has any bulk left")
    print(f"candidate files: {len(planned.files)}, {in_mib(planned.file_bytes)}")
    history = (
        "no server answers, so it is left as it is" if planned.flow_runs is None else f"{planned.flow_runs} flow runs"
    )
    print(f"Prefect's history: {history}")
    print("kept for ever: trials with outcome, figures and returns, sources, reads, looks, decisions, pool entries")


def _pruning_document(planned: Plan, done: Pruned | None) -> dict[str, Any]:
    return {
        "runs": [
            {
                "id": run.run_id,
                "trials": run.trials,
                "cell_bytes": run.cell_bytes,
                "exchange_bytes": run.exchange_bytes,
            }
            for run in planned.runs
        ],
        "files": len(planned.files),
        "file_bytes": planned.file_bytes,
        "flow_runs": planned.flow_runs,
        "done": None
        if done is None
        else {
            "runs": done.runs,
            "files": done.files,
            "flow_runs": done.flow_runs,
            "store_bytes_before": done.store_before,
            "store_bytes_after": done.store_after,
            "note": done.note,
        },
    }


def _because(record: RunRecord) -> str:
    """Why a run that was killed waits for a person; empty where nothing was decided."""
    from evolution.story import given_up

    reason = given_up(record.story)
    return f", and {plain(reason)}" if reason else ""


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
        "resumes": len(record.story.get("resumes") or ()),
        "given_up": record.story.get("given_up"),
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


def report(
    run_id: RunId,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Where to write the page (default: reports/RUN.html in the home folder)."
        ),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser, too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE even if it is no report of ours.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown, and write no page.")] = False,
) -> int:
    """The report of one run, for reading in the morning: as text, and as one HTML page that opens offline."""
    from evolution.ledger import UnknownIdError
    from evolution.morning import read_stored
    from evolution.report import render_markdown
    from flows.morning import write_report
    from flows.settings import home_folder

    if markdown and (html is not None or open or force):
        raise UsageProblem("--markdown prints and writes no page: leave --html, --open and --force out")
    ledger, pool = stores()
    try:
        stored = read_stored(ledger, pool, run_id, is_cut_short=_is_cut_short(ledger.run(run_id)))
    except UnknownIdError as error:
        raise UsageProblem(plain(str(error))) from None
    summary = stored.summary
    if markdown:
        print(render_markdown(summary), end="")
        return 0
    print(render(summary), end="", flush=True)
    path = write_report(
        ledger,
        pool,
        home_folder(),
        summary.record.id,
        to=html,
        is_forced=force,
        stored=stored,
    )
    print(f"report: {plain(str(path))}")
    if open:
        _open_in_browser(path)
    return 0


def _open_in_browser(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.as_uri()):
        raise EnvironmentProblem(f"--open: no browser was found here; open {path} with one")


def render(summary: RunSummary) -> str:
    """The report as text."""
    from evolution.report import render_text

    return render_text(summary)


def stores() -> tuple[TrialLedger, Pool]:
    """The ledger and the pool of the home folder's store."""
    from evolution.ledger import TrialLedger
    from evolution.pool import Pool
    from flows.clock import now
    from flows.opening import engine
    from flows.settings import home_folder

    opened = engine(home_folder())
    return TrialLedger(opened, now=now), Pool(opened, now=now)


def _summary(ledger: TrialLedger, pool: Pool, run_id: str) -> RunSummary:
    from evolution.ledger import UnknownIdError
    from evolution.summary import run_summary

    try:
        return run_summary(ledger, pool, run_id, is_cut_short=_is_cut_short(ledger.run(run_id)))
    except UnknownIdError as error:
        raise UsageProblem(plain(str(error))) from None
