"""``trigate pool``: what passed admission, and what a person makes of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evolution.pool import Binding, Decided, Decision, NotPossible, Pool, PoolEntry, Promotion, Rescore
    from evolution.pool.keys import SigningKey
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
        print(_why_empty())
    else:
        print_entries(entries)
    return 0


def _why_empty() -> str:
    """Names the newest run, which is the one that is asked about."""
    from evolution.ledger import TrialLedger
    from flows.clock import now
    from flows.opening import engine
    from flows.settings import home_folder

    newest = TrialLedger(engine(home_folder()), now=now).runs(limit=1)
    if not newest:
        return "the pool is empty; trigate evolve fills it"
    return f"the pool is empty; why the newest run left it so: trigate runs show {newest[0].record.id}"


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
        print_json(
            entry_document(entry)
            | {
                "source": entry.source.text,
                "decisions": [decision_document(each) for each in decisions],
                "looks_left": pool.looks_left(entry),
            }
        )
        return 0
    print_entries((entry,))
    _print_evidence(entry)
    print(_looks(pool, entry))
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
        refusal = _edited(entry, home) or (None if is_rescore else _obstacle(pool, entry, settings, home))
        if refusal is not None:
            return _say_refusal(entry, refusal, json=json)
        signer = signer_for(pool.people, home, by, offer=not is_rescore)
        if isinstance(signer, NotSigned):
            return _say_refusal(entry, signer.reason, json=json)
        take = _looker(pool.rescore if is_rescore else pool.promote, entry, settings, home)
        outcome = take(by=by, reason=reason, signer=signer)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    _say_look(pool, entry, outcome, json=json)
    if isinstance(outcome, Promoted) and signer is not None:
        _deploy(outcome.entry, by, signer, settings, home, json=json)
    return 0 if isinstance(outcome, (Promoted, Held)) else 1


def _deploy(entry: PoolEntry, by: str, signer: SigningKey, settings: Settings, home: Path, *, json: bool) -> None:
    """Sign what may trade on paper while the key is open. A crash before this costs a ``trigate paper deploy``."""
    from flows.trading import deploy, open_room

    signed = deploy(open_room(home, settings), entry, by, signer)
    if not json:
        print(f"deployment {signed.deployment.id} is signed: trigate paper start {entry.id} --by NAME")


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
        return _say_decision(entry, decide(entry.id, by=by, reason=reason, signer=signer), json=json)
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


def _obstacle(pool: Pool, entry: PoolEntry, settings: Settings, home: Path) -> str | None:
    """Why a promotion would be refused whoever asks: nobody is asked for a passphrase, or enrolled, for nothing."""
    from flows.opening import vault

    found = pool.obstacle(
        entry, binding=_binding(entry, settings, home), open_vault=lambda: vault(entry.binding.dataset, home)
    )
    return None if found is None else found.reason


def _binding(entry: PoolEntry, settings: Settings, home: Path) -> Binding:
    """Data, configuration and engine as they are now."""
    from evolution.pool import Binding
    from flows.identity import config_hash
    from flows.opening import dataset
    from runtime.version import ENGINE_VERSION

    name = entry.binding.dataset
    return Binding(
        dataset=name,
        dataset_sha256=dataset(name, home).sha256,
        config_hash=config_hash(settings),
        engine_version=ENGINE_VERSION,
    )


def _looker(
    take: Callable[..., Promotion | Rescore], entry: PoolEntry, settings: Settings, home: Path
) -> Callable[..., Promotion | Rescore]:
    """A look with everything that it is bound to; who asks is still open."""
    from flows.opening import runner, vault

    def open_runner(_vault: Mapping[str, Bars]) -> AbstractContextManager[CageRunner]:
        # A look is a proof run: its bars stay in this process, and no cage holds any.
        return runner({}, settings.cage, settings.cage_limits())

    return partial(
        take,
        entry.id,
        binding=_binding(entry, settings, home),
        config=settings.run_config(),
        open_vault=lambda: vault(entry.binding.dataset, home),
        open_runner=open_runner,
    )


def _say_look(pool: Pool, entry: PoolEntry, outcome: Promotion | Rescore, *, json: bool) -> None:
    from evolution.pool import Faded, Held, LookFailed, Promoted

    match outcome:
        case Promoted(entry=after, decision=decision):
            _say(after, "promoted", f"{after.id} is promoted; it passed its look at the vault", decision, json=json)
        case LookFailed(entry=after, decision=decision):
            _say(after, "failed", f"{after.id} failed its look at the vault and is declined", decision, json=json)
        case Held(entry=after, decision=decision):
            words = f"{after.id} held on the bars that came since, and stays promoted"
            _say(after, "held", words, decision, json=json)
        case Faded(entry=after, decision=decision):
            _say(after, "failed", f"{after.id} did not hold on newer bars and is retired", decision, json=json)
        case refused:
            _say_refusal(entry, refused.reason, json=json)
    if not json:
        print(_looks(pool, entry))


def _looks(pool: Pool, entry: PoolEntry) -> str:
    left = pool.looks_left(entry)
    return f"looks left at the vault of {entry.binding.dataset}: {left}" + ("" if left else ", until newer bars come")


def _say_refusal(entry: PoolEntry, reason: str, *, json: bool) -> int:
    _say(entry, "refused", reason, None, json=json)
    return 1


def _say_decision(entry: PoolEntry, outcome: Decided | NotPossible, *, json: bool) -> int:
    from evolution.pool import Decided

    if not isinstance(outcome, Decided):
        return _say_refusal(entry, outcome.reason, json=json)
    after = outcome.entry
    _say(after, after.status.value, f"{after.id} is {after.status.value}", outcome.decision, json=json)
    return 0


def _say(entry: PoolEntry, verdict: str, words: str, made: Decision | None, *, json: bool) -> None:
    """What became of a decision, in one shape for all of them; ``decision`` is None where nothing was decided."""
    from evolution.pool import decision_document

    if not json:
        print(plain(words))
        return
    print_json(
        {
            "id": entry.id,
            "status": entry.status.value,
            "verdict": verdict,
            "message": words,
            "decision": decision_document(made) if made else None,
        }
    )
