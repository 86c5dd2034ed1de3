"""``trigate pool``: what passed admission, and what a person makes of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.output import figure, plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from evolution.pool import Decided, Decision, NotPossible, Pool, PoolEntry, Promotion
    from evolution.pool.runner import CageRunner
    from flows.settings import Settings
    from runtime.market import Bars

app = typer.Typer(no_args_is_help=True, help="Candidates that passed admission: look at them, promote or decline them.")

EntryId = Annotated[str, typer.Argument(metavar="ID", help="Id of an entry (p-0007), or the beginning of its sha256.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers for the decision.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]


@app.command("list")
def list_entries(
    status: Annotated[str | None, typer.Option(help="candidate, promoted, declined or retired.")] = None,
    json: Json = False,
) -> int:
    """Entries in order of admission."""
    from evolution.pool import EntryStatus, entry_document

    wanted = None
    if status is not None:
        known = [each.value for each in EntryStatus]
        if status not in known:
            raise UsageProblem(f"--status {status}: write one of {', '.join(known)}")
        wanted = EntryStatus(status)
    entries = _pool().list(wanted)
    if json:
        print_json([entry_document(entry) for entry in entries])
    elif not entries:
        print("the pool is empty; `trigate evolve` fills it, and `trigate runs show` says why it stayed empty")
    else:
        print_entries(entries)
    return 0


def print_entries(entries: tuple[PoolEntry, ...]) -> None:
    """The pool as a table."""
    rows = [
        (
            each.id,
            each.status.value,
            each.score,
            each.binding.dataset,
            f"{each.run_id}/{each.candidate_id}",
            each.source.sha256[:12],
            "no" if each.models else "yes",
        )
        for each in entries
    ]
    table("", ("id", "status", "score", "data", "candidate", "sha256", "blind"), rows)


@app.command("show")
def show(entry_id: EntryId, json: Json = False) -> int:
    """The evidence of one entry, its decisions, and its source."""
    from evolution.pool import decision_document, entry_document

    pool = _pool()
    entry = _entry(pool, entry_id)
    decisions = pool.decisions(entry)
    if json:
        document = entry_document(entry)
        print_json(
            document | {"source": entry.source.text, "decisions": [decision_document(each) for each in decisions]}
        )
        return 0
    print_entries((entry,))
    rows = [
        (each.name, "passed" if each.passed else "refused", figure(each.figure), each.limit, each.sentence)
        for each in entry.card.checks
    ]
    table("admission", ("check", "verdict", "figure", "limit", "in words"), rows)
    for each in decisions:
        print(f"{each.at:%Y-%m-%d %H:%M} {each.kind.value} by {plain(each.by)}: {plain(each.reason)}")
    print()
    print("\n".join(plain(line) for line in entry.source.text.splitlines()))
    return 0


@app.command("promote")
def promote(
    entry_id: EntryId, by: By, reason: Reason, config: ConfigFile = None, cage: CageChoice = None, json: Json = False
) -> int:
    """Spend one counted look at the vault on an entry; it is promoted if it passes."""
    from evolution.pool import DecisionError, Promoted
    from flows.settings import home_folder, load_settings

    home = home_folder()
    settings = load_settings(config, home, cage=cage)
    pool = _pool()
    entry = _entry(pool, entry_id)
    try:
        outcome = _take_look(pool, entry, settings, home, by=by, reason=reason)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    _say_promotion(entry, outcome, json=json)
    return 0 if isinstance(outcome, Promoted) else 1


@app.command("decline")
def decline(entry_id: EntryId, by: By, reason: Reason, json: Json = False) -> int:
    """Turn an entry down, for good."""
    from evolution.pool import DecisionError

    pool = _pool()
    entry = _entry(pool, entry_id)
    try:
        return _say_decision(pool.decline(entry.id, by=by, reason=reason), json=json)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None


@app.command("retire")
def retire(entry_id: EntryId, by: By, reason: Reason, json: Json = False) -> int:
    """Take a promoted entry out of use, for good."""
    from evolution.pool import DecisionError

    pool = _pool()
    entry = _entry(pool, entry_id)
    try:
        return _say_decision(pool.retire(entry.id, by=by, reason=reason), json=json)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None


def _pool() -> Pool:
    from evolution.pool import Pool
    from flows.clock import now
    from flows.opening import engine
    from flows.settings import home_folder

    return Pool(engine(home_folder()), now=now)


def _entry(pool: Pool, entry_id: str) -> PoolEntry:
    from evolution.ledger import UnknownIdError

    try:
        return pool.get(entry_id)
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None


def _take_look(pool: Pool, entry: PoolEntry, settings: Settings, home: Path, *, by: str, reason: str) -> Promotion:
    from evolution.pool import Binding, CageRunner
    from flows.identity import config_hash
    from flows.opening import dataset, gate_cage, vault
    from runtime.version import ENGINE_VERSION

    @contextmanager
    def open_runner(bars: Mapping[str, Bars]) -> Iterator[CageRunner]:
        with gate_cage(bars, settings.cage) as cage:
            yield CageRunner(cage=cage, limits=settings.cage_limits())

    name = entry.binding.dataset
    binding = Binding(
        dataset=name,
        dataset_sha256=dataset(name, home).sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
    )
    return pool.promote(
        entry.id,
        by=by,
        reason=reason,
        binding=binding,
        config=settings.run_config(),
        open_vault=lambda: vault(name, home),
        open_runner=open_runner,
    )


def _say_promotion(entry: PoolEntry, outcome: Promotion, *, json: bool) -> None:
    from evolution.pool import LookFailed, Promoted, decision_document

    made: Decision | None = None
    match outcome:
        case Promoted(entry=after, decision=decision):
            verdict, words, made = "promoted", f"{after.id} is promoted; it passed its look at the vault", decision
        case LookFailed(entry=after, decision=decision):
            verdict, words, made = "failed", f"{after.id} failed its look at the vault and is declined", decision
        case refused:
            verdict, words = "refused", refused.reason
    if json:
        document: dict[str, Any] = {"id": entry.id, "verdict": verdict, "message": words}
        print_json(document | {"decision": decision_document(made) if made else None})
    else:
        print(plain(words))


def _say_decision(outcome: Decided | NotPossible, *, json: bool) -> int:
    from evolution.pool import Decided, decision_document, entry_document

    if isinstance(outcome, Decided):
        document = entry_document(outcome.entry) | {"decision": decision_document(outcome.decision)}
        print_json(document) if json else print(f"{outcome.entry.id} is {outcome.entry.status.value}")
        return 0
    print_json({"verdict": "refused", "message": outcome.reason}) if json else print(plain(outcome.reason))
    return 1
