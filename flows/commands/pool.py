"""``trigate pool``: what passed admission, and what a person makes of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.listing import Listing
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.pool import Decided, Decision, NotPossible, Pool, PoolEntry, Promotion, Rescore
    from evolution.pool.keys import SigningKey
    from flows.settings import Settings

app = typer.Typer(
    cls=Listing, no_args_is_help=True, help="Candidates that passed admission: look at them, promote or decline them."
)

EntryId = Annotated[str, typer.Argument(metavar="ID", help="Id of an entry (p-0007), or the beginning of its sha256.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers for the decision.")]
_SUFFIXES = {"python": ".py", "sir": ".sir"}
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


@app.command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="Id of an entry.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Id of another one.")],
    json: Json = False,
) -> int:
    """Two entries side by side: what they hold for, the figures of their checks, and their sources line by line."""
    from evolution.pool.compare import comparison

    pool = open_pool()
    found = comparison(_entry(pool, first), _entry(pool, second))
    if json:
        print_json(found.document())
        return 0
    one, other = found.first, found.second
    if found.differences:
        table("", ("", one, other), [(each.name, each.first, each.second) for each in found.differences])
    else:
        print(f"{one} and {other} hold for the same, and no figure differs")
    print()
    for line in found.source:
        print(plain(line))
    if not found.source:
        print("their sources are the same")
    return 0


@app.command("export")
def export(
    entry_id: EntryId,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new file: .json for all of it, .py for the source alone.")
    ],
    json: Json = False,
) -> int:
    """Write an entry to a file: the source byte for byte, its evidence and its signed decisions; never a figure of the vault."""
    from evolution.pool.compare import exported

    pool = open_pool()
    entry = _entry(pool, entry_id)
    if file.suffix == ".json":
        people = {each.name: each.public_key for each in pool.people.list() if each.public_key}
        data = exported(entry, pool.decisions(entry), people, pool.codes.papers(entry.number))
    elif file.suffix == _SUFFIXES[entry.source.language.value]:
        data = entry.source.data
    else:
        raise UsageProblem(
            f"{file}: its name must end in .json for the whole entry, or {_SUFFIXES[entry.source.language.value]} for its source"
        )
    try:
        with file.open("xb") as target:
            target.write(data)
    except FileExistsError:
        raise UsageProblem(f"{file}: is there already; choose another name") from None
    except OSError as error:
        raise UsageProblem(
            f"{file}: {(error.strerror or str(error)).lower()}; choose a place that can be written"
        ) from None
    if json:
        print_json({"id": entry.id, "file": str(file), "bytes": len(data), "sha256": entry.source.sha256})
    else:
        print(f"{plain(str(file))}: {entry.id}, {len(data)} bytes")
    return 0


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
    from evolution.pool import DecisionError, Held, Promoted, PromotionRefused
    from evolution.pool.decisions import checked_reason
    from flows.commands.signing import NotSigned, signer_for
    from flows.deciding import Desk
    from flows.settings import home_folder, load_settings

    home = home_folder()
    settings = load_settings(config, home, cage=cage)
    desk = Desk.open(home, settings)
    pool = desk.pool
    entry = _entry(pool, entry_id)
    try:
        checked_reason(reason)  # before anybody is asked for a passphrase
        refusal = desk.edited(entry) if is_rescore else desk.obstacle(entry)
        if refusal is not None:
            return _say_refusal(entry, refusal, json=json)
        signer = signer_for(pool.people, home, by, offer=not is_rescore)
        if isinstance(signer, NotSigned):
            return _say_refusal(entry, signer.reason, json=json)
        take = desk.rescore if is_rescore else desk.promote
        outcome = take(entry, by=by, reason=reason, signer=signer)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    if not isinstance(outcome, PromotionRefused):
        _tell(home, outcome.entry, outcome.decision)
    _say_look(pool, entry, outcome, json=json)
    if isinstance(outcome, Promoted) and signer is not None:
        _deploy(outcome.entry, by, signer, settings, home, json=json)
    return 0 if isinstance(outcome, (Promoted, Held)) else 1


def _deploy(entry: PoolEntry, by: str, signer: SigningKey, settings: Settings, home: Path, *, json: bool) -> None:
    """Sign what may trade on paper while the key is open. A crash before this costs a ``trigate paper deploy``."""
    from flows.trading import deploy, open_room

    signed = deploy(open_room(home, settings), entry, by, signer)
    if not json:
        deployment = signed.deployment
        symbol = "" if len(deployment.instruments) == 1 else f" --symbol {deployment.instruments[0].symbol}"
        print(
            f"deployment {deployment.id} is signed: trigate paper start {entry.id} --by {shlex.quote(deployment.owner)}{symbol} "
            "--feed NAME (or --replay SET)"
        )


def _decide(entry_id: str, by: str, reason: str, *, is_retirement: bool, json: bool) -> int:
    from evolution.pool import Decided, DecisionError
    from flows.commands.signing import NotSigned, signer_for
    from flows.settings import home_folder

    home, pool = home_folder(), open_pool()
    entry = _entry(pool, entry_id)
    signer = signer_for(pool.people, home, by, offer=False)
    if isinstance(signer, NotSigned):
        return _say_refusal(entry, signer.reason, json=json)
    decide = pool.retire if is_retirement else pool.decline
    try:
        outcome = decide(entry.id, by=by, reason=reason, signer=signer)
    except DecisionError as error:
        raise UsageProblem(str(error)) from None
    if isinstance(outcome, Decided):
        _tell(home, outcome.entry, outcome.decision)
    return _say_decision(entry, outcome, json=json)


def _tell(home: Path, entry: PoolEntry, decision: Decision) -> None:
    """Whoever waits for this decision in the UI need not wait any longer."""
    from flows.tidings import tell_decision

    ended = tell_decision(home, entry, decision)
    if ended:
        print(f"{ended} waiting review{'s' if ended > 1 else ''} of {entry.id} ended by this decision", file=sys.stderr)


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
