"""``trigate pool``: what passed admission, and what a person makes of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evolution.pool import Decided, Decision, NotPossible, Pool, PoolEntry, Promotion, Rescore
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
    entries = open_pool().list(wanted)
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

    pool = open_pool()
    entry = _entry(pool, entry_id)
    decisions = pool.decisions(entry)
    if json:
        document = entry_document(entry)
        print_json(
            document | {"source": entry.source.text, "decisions": [decision_document(each) for each in decisions]}
        )
        return 0
    print_entries((entry,))
    _print_evidence(entry)
    chain = pool.verify_chain()
    for each in decisions:
        print(
            f"{each.at:%Y-%m-%d %H:%M} {each.kind.value} by {plain(each.by)} "
            f"({each.attestation or 'unsigned'}): {plain(each.reason)}"
        )
    if chain.problem is not None:
        print(f"the decision log cannot be trusted: {chain.problem}")
    print()
    print("\n".join(plain(line) for line in entry.source.text.splitlines()))
    return 0


def _print_evidence(entry: PoolEntry) -> None:
    """As somebody should read it who is going to answer for it."""
    from evolution.pool.sheet import sheet_lines

    print()
    for line in sheet_lines(entry):
        print(plain(line))
    print()


@app.command("promote")
def promote(
    entry_id: EntryId, by: By, reason: Reason, config: ConfigFile = None, cage: CageChoice = None, json: Json = False
) -> int:
    """Spend one counted look at the vault on an entry; it is promoted if it passes."""
    return _look(entry_id, by, reason, config, cage, is_rescore=False, json=json)


@app.command("rescore")
def rescore(
    entry_id: EntryId, by: By, reason: Reason, config: ConfigFile = None, cage: CageChoice = None, json: Json = False
) -> int:
    """Spend one counted look at newer bars on a promoted entry; it is retired if it does not hold."""
    return _look(entry_id, by, reason, config, cage, is_rescore=True, json=json)


@app.command("decline")
def decline(entry_id: EntryId, by: By, reason: Reason, json: Json = False) -> int:
    """Turn an entry down, for good."""
    return _decide(entry_id, by, reason, is_retirement=False, json=json)


@app.command("retire")
def retire(entry_id: EntryId, by: By, reason: Reason, json: Json = False) -> int:
    """Take a promoted entry out of use, for good."""
    return _decide(entry_id, by, reason, is_retirement=True, json=json)


def _look(
    entry_id: str, by: str, reason: str, config: Path | None, cage: str | None, *, is_rescore: bool, json: bool
) -> int:
    from evolution.pool import DecisionError, Held, Promoted
    from evolution.pool.decisions import checked_reason
    from flows.commands.signing import NotSigned, signer_for
    from flows.settings import home_folder, load_settings

    home = home_folder()
    settings = load_settings(config, home, cage=cage)
    pool = open_pool()
    entry = _entry(pool, entry_id)
    try:
        checked_reason(reason)  # before anybody is asked for a passphrase
        refusal = _edited(entry, home)
        if refusal is not None:
            return _say_refusal(entry, refusal, json=json)
        signer = signer_for(pool.people, home, by, offer=not is_rescore)
        if isinstance(signer, NotSigned):
            return _say_refusal(entry, signer.reason, json=json)
        take = _looker(pool.rescore if is_rescore else pool.promote, entry, settings, home)
        outcome = take(by=by, reason=reason, signer=signer)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    _say_look(entry, outcome, json=json)
    return 0 if isinstance(outcome, (Promoted, Held)) else 1


def _decide(entry_id: str, by: str, reason: str, *, is_retirement: bool, json: bool) -> int:
    from evolution.pool import DecisionError
    from flows.commands.signing import NotSigned, signer_for
    from flows.settings import home_folder

    pool = open_pool()
    entry = _entry(pool, entry_id)
    signer = signer_for(pool.people, home_folder(), by, offer=False)
    if isinstance(signer, NotSigned):
        return _say_refusal(entry, signer.reason, json=json)
    decide = pool.retire if is_retirement else pool.decline
    try:
        return _say_decision(decide(entry.id, by=by, reason=reason, signer=signer), json=json)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None


def _edited(entry: PoolEntry, home: Path) -> str | None:
    """Why the entry's file for people is not the entry any more; None when it is, or when there is no file."""
    from evolution.candidate_files import CandidateFileError, CandidateFiles
    from evolution.ledger import TrialLedger
    from flows.clock import now
    from flows.opening import engine

    files = CandidateFiles(home)
    if not files.path(entry.run_id, entry.candidate_id, entry.source.language).exists():
        return None
    try:
        files.read(TrialLedger(engine(home), now=now).trial(entry.run_id, entry.candidate_id).candidate)
    except CandidateFileError as error:
        return str(error)
    return None


def open_pool() -> Pool:
    """The pool of the home folder's store."""
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


def _looker(
    take: Callable[..., Promotion | Rescore], entry: PoolEntry, settings: Settings, home: Path
) -> Callable[..., Promotion | Rescore]:
    """A look with everything that it is bound to; who asks is still open."""
    from evolution.pool import Binding
    from flows.identity import config_hash
    from flows.opening import dataset, runner, vault
    from runtime.version import ENGINE_VERSION

    def open_runner(_vault: Mapping[str, Bars]) -> AbstractContextManager[CageRunner]:
        # A look is a proof run: its bars stay in this process, and no cage holds any.
        return runner({}, settings.cage, settings.cage_limits())

    name = entry.binding.dataset
    binding = Binding(
        dataset=name,
        dataset_sha256=dataset(name, home).sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
    )
    return partial(
        take,
        entry.id,
        binding=binding,
        config=settings.run_config(),
        open_vault=lambda: vault(name, home),
        open_runner=open_runner,
    )


def _say_look(entry: PoolEntry, outcome: Promotion | Rescore, *, json: bool) -> None:
    from evolution.pool import Faded, Held, LookFailed, Promoted, decision_document

    made: Decision | None = None
    match outcome:
        case Promoted(entry=after, decision=decision):
            verdict, words, made = "promoted", f"{after.id} is promoted; it passed its look at the vault", decision
        case LookFailed(entry=after, decision=decision):
            verdict, words, made = "failed", f"{after.id} failed its look at the vault and is declined", decision
        case Held(entry=after, decision=decision):
            verdict, words, made = "held", f"{after.id} held on the bars that came since, and stays promoted", decision
        case Faded(entry=after, decision=decision):
            verdict, words, made = "failed", f"{after.id} did not hold on newer bars and is retired", decision
        case refused:
            verdict, words = "refused", refused.reason
    if json:
        document: dict[str, Any] = {"id": entry.id, "verdict": verdict, "message": words}
        print_json(document | {"decision": decision_document(made) if made else None})
    else:
        print(plain(words))


def _say_refusal(entry: PoolEntry, reason: str, *, json: bool) -> int:
    if json:
        print_json({"id": entry.id, "verdict": "refused", "message": reason, "decision": None})
    else:
        print(plain(reason))
    return 1


def _say_decision(outcome: Decided | NotPossible, *, json: bool) -> int:
    from evolution.pool import Decided, decision_document, entry_document

    if isinstance(outcome, Decided):
        document = entry_document(outcome.entry) | {"decision": decision_document(outcome.decision)}
        print_json(document) if json else print(f"{outcome.entry.id} is {outcome.entry.status.value}")
        return 0
    print_json({"verdict": "refused", "message": outcome.reason}) if json else print(plain(outcome.reason))
    return 1
