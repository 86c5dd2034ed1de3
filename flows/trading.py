"""Paper runs put together: deployment, source, feed, cage and guards from the store, the pool and the configuration."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from evolution.candidate_files import CandidateFileError, CandidateFiles
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.pool import EntryStatus, Pool
from flows import opening
from flows.accrual import Accruals, AccruingWatch
from flows.clock import now
from flows.hooks import ExecutionHooks
from flows.problems import EnvironmentProblem, UsageProblem
from gates import Rejected
from gates.admit import judge_text
from gates.wire import MASKED_SYMBOL, Seat, encode_seat
from runtime.cage import CageLimits
from runtime.kernel import RemoteHost, RunLimits
from runtime.market import WARMUP_BARS, find_calendar
from runtime.market.calendar import YEAR_S
from runtime.market.feeds import Timing
from runtime.market.sessions import AROUND_THE_CLOCK, CALENDARS
from runtime.paper.attest import Attestor
from runtime.paper.audit import Auditor
from runtime.paper.clocks import ReplayClock, WallClock
from runtime.paper.deployment import Bearer, Deployment, Expectation, SignedDeployment, account_of, refusal
from runtime.paper.feed import Market, Outage, ReplayFeed
from runtime.paper.live_feed import LiveFeed
from runtime.paper.plans import PlanBook, Proof
from runtime.paper.runner import Faults, RunParts, Unwatched
from runtime.paper.runs import RunBook, RunRefused
from runtime.paper.signing import SigningError, key_path, open_runner_key
from runtime.paper.witness import HeadFile
from runtime.sir.build import build
from runtime.sir.compile import Refused, compile_document
from runtime.sir.host import ProgramHost
from runtime.sir.vocabulary import Mode
from runtime.source import Language
from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Engine

    from evolution.pool import PoolEntry
    from evolution.pool.keys import SigningKey
    from flows.settings import Settings
    from runtime.cage import Cage
    from runtime.kernel import StrategyHost
    from runtime.market import Bars
    from runtime.model import Bar, Instrument
    from runtime.paper.clocks import RunClock
    from runtime.paper.feed import BarFeed
    from runtime.paper.runner import Watch
    from runtime.paper.runs import RunRecord

# A child lives as long as its run: each answer is bounded by wall time, and a whole run by a day of processor time.
_CAGE_LIMITS = CageLimits(cpu_s=86_400.0, wall_s=10.0)
# What a calendar's figure may be off and still be that of an instrument.
_SAME_CALENDAR = 0.03


@dataclass(frozen=True, slots=True)
class TradingRoom:
    """The parts that all paper runs of a home share."""

    home: Path
    settings: Settings
    engine: Engine
    auditor: Auditor
    book: RunBook
    plans: PlanBook
    pool: Pool
    attestor: Attestor
    accruals: Accruals


def open_room(home: Path, settings: Settings) -> TradingRoom:
    """Open the store and the runner's key.

    Raises:
        EnvironmentProblem: one of them cannot be used.
    """
    engine = opening.engine(home)
    try:
        auditor = Auditor(open_runner_key(home), now, HeadFile(key_path(home).with_name("head")))
    except SigningError as error:
        raise EnvironmentProblem(str(error)) from error
    return TradingRoom(
        home=home,
        settings=settings,
        engine=engine,
        auditor=auditor,
        book=RunBook(engine, auditor, settings.paper.runs_per_account),
        plans=PlanBook(engine, auditor),
        pool=Pool(engine, now=now),
        attestor=Attestor(engine, auditor),
        accruals=Accruals(home),
    )


# Signing ----------------------------------------------------------------------------------------------------------------


def deploy(room: TradingRoom, entry: PoolEntry, owner: str, signer: SigningKey) -> SignedDeployment:
    """Sign a promoted entry's deployment with the key of who promoted it, and keep it.

    Raises:
        UsageProblem: the entry is not promoted, or somebody else promoted it.
    """
    if entry.status is not EntryStatus.PROMOTED:
        raise UsageProblem(f"entry {entry.id} is {entry.status.value}; only a promoted one is deployed")
    promoter = next(each.by for each in reversed(room.pool.decisions(entry)) if each.kind.value == "promoted")
    if account_of(promoter) != account_of(owner):
        raise UsageProblem(f"entry {entry.id} was promoted by {promoter}, and only they can sign its deployment")
    data = opening.dataset(entry.binding.dataset, room.home)
    at = now()
    paper = room.settings.paper
    deployment = Deployment(
        entry=entry.id,
        source_sha256=entry.source.sha256,
        language=entry.source.language.value,
        owner=promoter,
        dataset=entry.binding.dataset,
        instruments=tuple(bars.instrument for bars in data.bars.values()),
        timeframe=data.timeframe,
        config=room.settings.run_config(),
        max_notional=paper.max_notional,
        engine_version=ENGINE_VERSION,
        signed=at,
        expires=at + timedelta(days=paper.deployment_days),
        expectation=_expectation(room.engine, entry),
    )
    signed = SignedDeployment(
        deployment=deployment, public_key=signer.public_key, signature=signer.sign(deployment.text().encode())
    )
    room.book.keep(signed)
    return signed


def _expectation(engine: Engine, entry: PoolEntry) -> Expectation:
    """Mean Sharpe ratio and worst drawdown over the cells of train. Nothing later: figures of the vault are never shown."""
    card = TrialLedger(engine, now=now).trial(entry.run_id, entry.candidate_id).scorecard
    cells = [] if card is None else [cell.metrics for cell in card.cells]
    ratios = [metrics.sharpe for metrics in cells if metrics.sharpe is not None]
    return Expectation(
        sharpe=sum(ratios) / len(ratios) if ratios else None,
        max_drawdown=max((metrics.max_drawdown for metrics in cells), default=None),
    )


def current_deployment(room: TradingRoom, entry_or_id: str) -> SignedDeployment:
    """A deployment by its id, or the newest one of a pool entry that is not revoked.

    Raises:
        UsageProblem: there is none.
    """
    if entry_or_id.startswith("d-"):
        try:
            return room.book.deployment(entry_or_id)
        except RunRefused as error:
            raise UsageProblem(str(error)) from None
    entry = find_entry(room, entry_or_id)
    mine = [each for each in room.book.deployments() if each.deployment.entry == entry.id and each.revoked is None]
    if not mine:
        raise UsageProblem(
            f"entry {entry.id} has no signed deployment: trigate paper deploy {entry.id} --by NAME signs one with the key "
            f"of who promoted it"
        )
    return max(mine, key=lambda each: each.deployment.signed)


def find_entry(room: TradingRoom, entry_id: str) -> PoolEntry:
    """A pool entry.

    Raises:
        UsageProblem: none fits, or several.
    """
    try:
        return room.pool.get(entry_id)
    except UnknownIdError as error:
        raise UsageProblem(str(error)) from None


def permission(room: TradingRoom, deployment_id: str, account: str, symbol: str) -> str | None:
    """Why a deployment may not run now; None when it may. Asked at start, at resume and at every look in between."""
    try:
        signed = room.book.deployment(deployment_id)
    except RunRefused as error:
        return str(error)
    entry = room.pool.get(signed.deployment.entry)
    if entry.status is not EntryStatus.PROMOTED:
        return f"entry {entry.id} is {entry.status.value}; only what is promoted trades"
    edited = _edited_file(room, entry)
    if edited is not None:
        return edited
    person = room.pool.people.find(signed.deployment.owner)
    bearer = Bearer(
        account=account,
        symbol=symbol,
        source=entry.source,
        enrolled_key=None if person is None else person.public_key,
        engine_version=ENGINE_VERSION,
    )
    return refusal(signed, bearer, now())


def _edited_file(room: TradingRoom, entry: PoolEntry) -> str | None:
    files = CandidateFiles(room.home)
    if not files.path(entry.run_id, entry.candidate_id, entry.source.language).exists():
        return None
    try:
        files.read(TrialLedger(room.engine, now=now).trial(entry.run_id, entry.candidate_id).candidate)
    except CandidateFileError as error:
        return str(error)
    return None


# Running ----------------------------------------------------------------------------------------------------------------


def market_of(deployment: Deployment, symbol: str, calendar: str | None = None) -> Market:
    """When the bars of an instrument close: by the calendar that is named, else the one whose bars per year it has."""
    if calendar is not None:
        return Market(timeframe=deployment.timeframe, calendar=find_calendar(calendar))
    instrument = deployment.instrument(symbol)
    years = 0.0 if instrument is None else instrument.bars_per_year
    for known in CALENDARS:
        if any(abs(figure / years - 1.0) <= _SAME_CALENDAR for figure in known.bars_per_year(deployment.timeframe)):
            return Market(timeframe=deployment.timeframe, calendar=known)
    return Market(timeframe=deployment.timeframe, calendar=AROUND_THE_CLOCK)


def replay_words(data: str, begin: int | None) -> str:
    """Where a replayed run's bars come from, for the store."""
    return json.dumps({"kind": "replay", "data": data, "from": begin}, sort_keys=True)


def live_words(feed: str) -> str:
    """Where a live run's bars come from, for the store."""
    return json.dumps({"kind": "live", "feed": feed}, sort_keys=True)


def check_feed(room: TradingRoom, deployment: Deployment, symbol: str, words: str) -> None:
    """Open a feed once, before a run is written down for it.

    Raises:
        UsageProblem, EnvironmentProblem: it cannot be used.
    """
    document = json.loads(words)
    if document["kind"] == "replay":
        _replayed(room, deployment, symbol, document)
    else:
        with _live(room, deployment, symbol, document) as source:
            if not source.warm:
                raise UsageProblem(f"feed {document['feed']} has no closed bars of {symbol}")


@dataclass(frozen=True, slots=True)
class _Source:
    feed: BarFeed
    warm: Sequence[Bar]
    clock: RunClock
    calendar: str | None = None
    is_live: bool = False


def _replayed(
    room: TradingRoom, deployment: Deployment, symbol: str, words: dict[str, Any], speed: float | None = None
) -> _Source:
    """History that a search may see, from the stated moment on; the bars before it are warm-up."""
    bars = _bars_of(room, words["data"], symbol)
    if bars.timeframe != deployment.timeframe:
        raise UsageProblem(
            f"{words['data']} has bars of {bars.timeframe}, and the deployment is for {deployment.timeframe}"
        )
    begin = words["from"]
    first = WARMUP_BARS if begin is None else int((bars.ts < begin).sum())
    if not 0 < first < len(bars):
        raise UsageProblem(_nothing_to_trade(bars, words["data"], symbol, begin))
    warm, live = bars.between(max(first - WARMUP_BARS, 0), first), bars.between(first, len(bars))
    clock = ReplayClock(datetime.fromtimestamp(int(live.ts[0]), UTC), speed)
    return _Source(ReplayFeed(live), warm.rows(), clock)


def _nothing_to_trade(bars: Bars, data: str, symbol: str, begin: int | None) -> str:
    known, days = len(bars), [f"{datetime.fromtimestamp(int(bars.ts[at]), UTC):%Y-%m-%d}" for at in (0, -1)]
    if begin is None:
        return f"{data} has {known} bars of {symbol}, and the first {WARMUP_BARS} are warm-up; give more, or a --from within them"
    return (
        f"--from {datetime.fromtimestamp(begin, UTC):%Y-%m-%d}: {data} replays {symbol} from {days[0]} to {days[1]}, its vault left out; "
        "choose a day after the first and not after the last"
    )


def _bars_of(room: TradingRoom, data: str, symbol: str) -> Bars:
    if "/" in data or data.lower().endswith((".csv", ".csv.gz", ".parquet")):
        from pathlib import Path  # noqa: PLC0415 - only here

        return opening.loose_file(Path(data), symbol=symbol, timeframe=None)
    return opening.dataset(data, room.home, symbol=symbol).bars[symbol]


@contextmanager
def _live(room: TradingRoom, deployment: Deployment, symbol: str, words: dict[str, Any]) -> Iterator[_Source]:
    from runtime.market.feeds.transport import HttpTransport  # noqa: PLC0415 - brings httpx

    name = words["feed"]
    if name not in room.settings.feeds:
        raise UsageProblem(f"feed {name!r} is not in trigate.toml; add a section [feeds.{name}]")
    section = room.settings.feeds[name]
    timing = Timing(now=now, monotonic=time.monotonic, sleep=time.sleep, jitter=random.Random())
    with HttpTransport(section.base_url, section.headers(os.environ)) as transport:
        source = section.feed(name)
        # One page bounds how long a poll may take; a run waits for the next one by itself.
        source = replace(source, limits=replace(source.limits, attempts=1, deadline_s=30.0))
        feed = LiveFeed(source, transport, symbol, deployment.timeframe, timing)
        calendar = source.calendar.name if source.calendar else None
        market = market_of(deployment, symbol, calendar)
        warm = _warm(feed, deployment.instrument(symbol), market)
        yield _Source(feed, warm, WallClock(), calendar, is_live=True)


def _warm(feed: LiveFeed, instrument: Instrument | None, market: Market) -> Sequence[Bar]:
    """The newest closed bars of a feed, up to the longest warm-up; none when it gives none now."""
    years = 1.0 if instrument is None else instrument.bars_per_year
    at = now()
    begin = int(at.timestamp() - 1.3 * WARMUP_BARS / years * YEAR_S - 7 * 86_400)
    answer = feed.bars(begin, at)
    if isinstance(answer, Outage):
        raise EnvironmentProblem(f"feed: {answer.reason}; the same command goes on later")
    known = feed.clock(at).timestamp()
    closed = [bar for bar in answer if market.end(int(bar.ts.timestamp())) <= known]
    return sorted(closed)[-WARMUP_BARS:]


@contextmanager
def run_parts(
    room: TradingRoom, record: RunRecord, cage: Cage, *, watch: Watch | None = None, speed: float | None = None
) -> Iterator[RunParts]:
    """A stored run, ready to be run: the first time and every time after.

    Raises:
        UsageProblem, EnvironmentProblem: its feed cannot be opened.
    """
    signed = room.book.deployment(record.deployment)
    deployment, words = signed.deployment, json.loads(record.feed)
    if words["kind"] == "replay":
        yield _parts(room, record, cage, _replayed(room, deployment, record.symbol, words, speed), watch)
        return
    accruing = AccruingWatch(watch or Unwatched(), room.accruals, deployment.dataset)
    with _live(room, deployment, record.symbol, words) as source:
        yield _parts(room, record, cage, source, accruing)
    room.accruals.begin(deployment.dataset)


def _parts(room: TradingRoom, record: RunRecord, cage: Cage, source: _Source, watch: Watch | None) -> RunParts:
    deployment = room.book.deployment(record.deployment).deployment
    entry = room.pool.get(deployment.entry)
    return RunParts(
        engine=room.engine,
        auditor=room.auditor,
        run=record.id,
        holder=f"{socket.gethostname()}:{os.getpid()}",
        account=record.account,
        symbol=record.symbol,
        deployment=deployment,
        guards=record.guards,
        market=market_of(deployment, record.symbol, source.calendar),
        feed=source.feed,
        warm=source.warm,
        clock=source.clock,
        open_host=_seated(cage, entry, deployment, record.symbol),
        permit=lambda: permission(room, record.deployment, record.account, record.symbol),
        attest=lambda: room.attestor.run_difference(record.id),
        plans=lambda: room.plans.approved(record.id, _proof(room)),
        hooks=ExecutionHooks(room.settings.paper.hooks),
        faults=Faults(streak=room.settings.paper.faults_in_a_row),
        most_gap=room.settings.paper.most_gap if source.is_live else None,
        watch=watch or Unwatched(),
    )


def _seated_document(entry: PoolEntry, deployment: Deployment) -> Callable[[], AbstractContextManager[StrategyHost]]:
    compiled = compile_document(entry.source.data, mode=Mode.PAPER)
    if isinstance(compiled, Refused):
        raise UsageProblem(f"entry {entry.id}: its document cannot trade on paper: {compiled.reason}")
    program = build(compiled.plan)
    return lambda: nullcontext(ProgramHost(program, deployment.timeframe))


def _proof(room: TradingRoom) -> Proof:
    people = room.pool.people.list()
    keys = {account_of(each.name): each.public_key for each in people if each.public_key is not None}
    return Proof(keys=keys, permissions=room.settings.paper.plans, logged=room.attestor.plan)


def _seated(
    cage: Cage, entry: PoolEntry, deployment: Deployment, symbol: str
) -> Callable[[], AbstractContextManager[StrategyHost]]:
    """Where the source runs: a caged child of its own, as in a proof run; a document needs none."""
    if entry.source.language is Language.SIR:
        return _seated_document(entry, deployment)
    class_name = judge_text(entry.source)
    if isinstance(class_name, Rejected):
        raise UsageProblem(f"entry {entry.id}: the gates of this version refuse its text; rescore or retire it")
    instrument = deployment.instrument(symbol)
    assert instrument is not None  # the deployment's permission was asked before
    seat = encode_seat(
        Seat(
            source=entry.source.data,
            class_name=class_name,
            instrument=replace(instrument, symbol=MASKED_SYMBOL),
            timeframe=deployment.timeframe,
        )
    )

    @contextmanager
    def opened() -> Iterator[StrategyHost]:
        with cage.converse(seat, _CAGE_LIMITS) as talk:
            yield RemoteHost(talk, RunLimits())

    return opened
