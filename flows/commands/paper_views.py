"""``trigate paper list``, ``status`` and ``audit``: what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evolution.plural import plural
from flows.commands.options import Json
from flows.commands.paper_room import RunId, plan_document, room_of, run_document, say_refusal
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from runtime.paper.runs import RunRecord


def list_runs(json: Json = False) -> int:
    """Paper runs, newest first; deployments; plans that wait."""
    from flows.clock import now
    from flows.story import request_words
    from runtime.paper.plans import PlanProblem
    from runtime.paper.runs import CONFLICT, RunRefused
    from runtime.paper.watching import held_runs

    room = room_of(None)
    try:
        runs, deployments, plans = room.book.list(), room.book.deployments(), room.plans.waiting()
    except (RunRefused, PlanProblem) as error:  # a row that was edited
        return say_refusal(getattr(error, "code", CONFLICT), str(error), json=json)
    if json:
        print_json(
            {
                "runs": [run_document(each) for each in runs],
                "deployments": [
                    {
                        "id": each.deployment.id,
                        "entry": each.deployment.entry,
                        "owner": each.deployment.owner,
                        "expires": each.deployment.expires.isoformat(),
                        "revoked": each.revoked,
                    }
                    for each in deployments
                ],
                "plans": [plan_document(each) for each in plans],
            }
        )
        return 0
    if not (runs or deployments):
        print("nothing trades on paper; trigate pool promote signs a deployment, trigate paper start runs it")
    if runs:
        held = held_runs(room.engine, now())
        rows = [
            (each.id, each.status.value, each.symbol, each.account, each.bars - each.warm, _why(each, held))
            for each in runs
        ]
        table("", ("run", "status", "symbol", "account", "bars", "why"), rows)
    if deployments:
        told = [
            (
                each.deployment.id,
                each.deployment.entry,
                each.deployment.owner,
                f"{each.deployment.expires:%Y-%m-%d}",
                f"revoked {each.revoked}" if each.revoked else "",
            )
            for each in deployments
        ]
        table("", ("deployment", "entry", "owner", "good until", ""), told)
    for plan in plans:
        asked = request_words(plan.request)
        print(f"plan {plan.id} by {plain(plan.maker)} waits for an answer: {plain(asked)} ({plain(plan.reason)})")
    return 0


def _why(record: RunRecord, held: frozenset[str]) -> str:
    if not record.status.is_over and record.id not in held:
        if record.stop_by is not None:
            return f"{record.stop_by} asked it to stop, and nobody runs it; trigate paper stop {record.id} --by NAME ends it"
        return f"nobody runs it; trigate paper resume {record.id}"
    if not record.status.is_over and record.stop_by is not None:
        return f"{record.stop_by} asked it to stop"
    return record.reason


def status(run: RunId, json: Json = False) -> int:
    """Where a run stands: equity, position, bars, lag, locks, and whether it does what its evidence promised."""
    from dataclasses import asdict

    from flows.clock import now
    from flows.trading import market_of
    from runtime.paper.runs import RunRefused
    from runtime.paper.watching import status_of

    room = room_of(None)
    try:
        record = room.book.get(run)
        deployment = room.book.deployment(record.deployment).deployment
    except RunRefused as error:
        return say_refusal(error.code, str(error), json=json)
    market = market_of(deployment, record.symbol)
    is_live = '"kind": "live"' in record.feed
    found = status_of(room.engine, run, deployment, market, now(), is_live=is_live)
    if json:
        document = run_document(record) | asdict(found)
        document["locks"] = [lock.story() for lock in found.locks]
        for name in ("last_bar", "next_bar"):
            document[name] = None if document[name] is None else document[name].isoformat()
        print_json(document)
        return 0
    forward = found.forward
    rows: list[tuple[str, object]] = [
        ("status", f"{record.status.value}{': ' + record.reason if record.reason else ''}"),
        ("run by", found.holder),
        ("equity", _money(found.equity)),
        ("cash", _money(found.cash)),
        ("position", None if found.position is None else f"{found.position:.10g}"),
        ("bars", record.bars - record.warm),
        ("last bar", f"{found.last_bar:%Y-%m-%d %H:%MZ}" if found.last_bar else None),
        ("next bar closes", f"{found.next_bar:%Y-%m-%d %H:%MZ}" if found.next_bar else None),
        ("lag", f"{found.lag_s:.1f} s" if found.lag_s is not None else None),
        ("fills", found.fills),
        ("orders wanted", found.decisions),
        ("total return", _percent(forward.total_return)),
        ("max drawdown", _percent(forward.max_drawdown)),
        ("Sharpe", forward.sharpe),
        ("Sharpe on train", forward.expected_sharpe),
    ]
    table("", ("", run), rows)
    for lock in found.locks:
        where = " ".join(each for each in (lock.market, lock.symbol, lock.side) if each) or "everything"
        print(f"locked: {where} until {lock.until:%Y-%m-%d %H:%MZ} by {lock.rule}: {lock.reason}")
    if record.unguarded_by:
        print(f"there is no risk guard; {plain(record.unguarded_by)} answers for it")
    if forward.alarm:
        print(f"alarm: {forward.alarm}")
    return 0


def _money(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"


def audit(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only the lines of one run; all are checked.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the lines into a new file.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Check a file that was exported.")] = None,
    json: Json = False,
) -> int:
    """Check the audit log, line by line, and tell the story."""
    from flows.story import tell
    from runtime.paper.audit import read_head, verify
    from runtime.store import reading

    room = room_of(None)
    lines, report = room.book.audit()
    if file is not None:
        lines = _lines_of(file)
        seen = room.auditor.seen()
        with reading(room.engine) as session:
            report = verify(lines, read_head(session), room.auditor.key.public_key, seen=seen)
    if export is not None:
        try:
            with export.open("x", encoding="ascii") as out:
                out.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise UsageProblem(
                f"--export {export}: {(error.strerror or str(error)).lower()}; choose a new file"
            ) from None
    told = tell(lines if report.problem is None else lines[: report.head.sequence], run)
    if run is not None and not told and report.problem is None:
        return say_refusal(
            404, f"the audit log has no line of a paper run {run!r}; trigate paper list shows them", json=json
        )
    verdict = report.problem or "whole"
    if json:
        print_json(
            {
                "verdict": verdict,
                "lines": report.lines,
                "sequence": report.head.sequence,
                "head": report.head.hash,
                "key": room.auditor.key.public_key,
                "story": told,
            }
        )
    else:
        for line in told:
            print(plain(line))
        key = room.auditor.key.public_key[:16]
        print(f"audit log: {verdict}; {plural(report.head.sequence, 'line')}, head {report.head.hash[:16]}, key {key}")
    return 0 if report.problem is None else 1


def _lines_of(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--file {file}: it cannot be read ({error}); give a file that --export wrote") from None
