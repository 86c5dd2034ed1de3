"""Helping with a run that another process leads: claim a candidate, try it, store its trial, claim the next.

All that is needed comes through the database: the bars of train, the cells, the candidates. A helper opens no data set, so it has no
validation bars and no vault, and it asks no model, so it needs no key. It must have the leader's program and configuration, or its
figures would not compare; it is refused otherwise.
"""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from os import getpid, uname
from typing import TYPE_CHECKING

from evolution.bench_parcel import NoParcelError, unpack
from evolution.cascade import Cascade
from evolution.evaluate import CageEvaluator, Foresight, run_trial
from evolution.foresight import NoiseBench
from evolution.ledger import LedgerError, TrialLedger
from evolution.memory import recalled
from evolution.workboard import CLAIM_S, DamagedParcelError, Workboard
from flows import opening
from flows.clock import now
from flows.heartbeat import beating
from flows.identity import Identity, difference, identity
from flows.problems import EnvironmentProblem
from runtime.store import impatient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from sqlalchemy import Engine

    from evolution.bench import CellBench
    from evolution.run import RunFacts
    from evolution.trial import Trial, TrialOutcome
    from evolution.workboard import Job
    from flows.settings import Settings
    from runtime.cage import Cage

_IDLE_S = 0.2
"""Between two looks at the board while there is nothing to do: a generation's candidates appear all at once."""
_LOOK_S = 1.0
"""Between two looks whether the run is still led by somebody."""


def helper_name() -> str:
    """What this process is called on the board; no other process ever has the same name."""
    return f"{uname().nodename}/{getpid()}-{secrets.token_hex(4)}"


@dataclass(slots=True, kw_only=True)
class SharedRun:
    """A run that this process helps with. ``attempt`` may be called from several threads."""

    run_id: str
    facts: RunFacts
    name: str
    ledger: TrialLedger
    board: Workboard
    bench: CellBench
    cage: Cage
    foresight: Foresight
    settings: Settings
    is_over: threading.Event = field(default_factory=threading.Event)
    """Set before anything is closed: what a candidate comes to after that is the closing's doing, and is not stored."""
    _probes: dict[int, dict[str, str]] = field(default_factory=dict)
    """First candidate by what it ordered in the probe's folds, by generation."""
    _gate: threading.Lock = field(default_factory=threading.Lock)

    def attempt(self, job: Job) -> TrialOutcome | None:
        """Try a candidate and store what came out; None when that does not count any more."""
        candidate = job.candidate
        cascade = Cascade(known=self._known(candidate.generation), is_full=job.is_full)
        trial = recalled(self.ledger, self.facts, candidate, self.bench, cascade)
        if trial is None:
            evaluator = CageEvaluator(cage=self.cage, bench=self.bench, limits=self.settings.cage_limits())
            trial = run_trial(candidate, evaluator, self.bench, foresight=self.foresight, cascade=cascade)
        return self._store(trial)

    def _store(self, trial: Trial) -> TrialOutcome | None:
        if self.is_over.is_set():
            return None
        try:
            self.ledger.add_trials([trial])
        except LedgerError:
            return None  # somebody else was quicker; the first result stands
        self.board.finish(self.run_id, trial.candidate.id, self.name)
        return trial.outcome

    def _known(self, generation: int) -> dict[str, str]:
        """What candidates of complete generations ordered in the probe's folds, as the leader knows it (``Night``)."""
        with self._gate:
            for number in range(generation):
                if number not in self._probes:
                    self._probes[number] = self._read_probes(number)
            known: dict[str, str] = {}
            for number in range(generation):
                known = self._probes[number] | known
            return known

    def _read_probes(self, number: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for trial in self.ledger.trials(self.run_id, generation=number):
            if trial.probe is not None:
                found.setdefault(trial.probe, trial.candidate.id)
        return found


@contextmanager
def shared_run(settings: Settings, engine: Engine, run_id: str, name: str) -> Iterator[SharedRun]:
    """Open a run to help with.

    Raises:
        EnvironmentProblem: the run is not shared, what it shares cannot be used, or it was begun by another program or with another
            configuration.
    """
    board, ledger = Workboard(engine), TrialLedger(engine, now=now)
    try:
        parcel = board.parcel(run_id)
    except DamagedParcelError as error:
        raise EnvironmentProblem(str(error)) from None
    if parcel is None:
        raise EnvironmentProblem(
            f"run {run_id}: nobody works on it at the moment; trigate evolve --resume {run_id} does"
        )
    facts = ledger.run(run_id).facts
    _require_same(run_id, parcel.code, facts, settings)
    try:
        bars, bench = unpack(parcel.bench)
    except NoParcelError as error:
        raise EnvironmentProblem(
            f"run {run_id}: what it shares cannot be used, {error}; resume it, which puts its bars up anew"
        ) from None
    with ExitStack() as stack:
        noise = NoiseBench.build(bench)
        cage = stack.enter_context(opening.gate_cage(bars, settings.cage))
        noise_cage = stack.enter_context(opening.gate_cage(noise.bars, settings.cage))
        run = SharedRun(
            run_id=run_id,
            facts=facts,
            name=name,
            ledger=ledger,
            board=board,
            bench=bench,
            cage=cage,
            foresight=Foresight.in_cage(noise_cage, noise, settings.cage_limits()),
            settings=settings,
        )
        stack.callback(board.give_back, name)
        stack.callback(run.is_over.set)
        beat = Workboard(impatient(engine))
        stack.enter_context(beating(lambda: beat.renew(name), CLAIM_S / 3))
        yield run


def help_along(run: SharedRun, told: Callable[[Job, TrialOutcome | None], object], *, at_once: int) -> int:
    """Try candidates until nobody leads the run any more; how many were tried here."""
    count = 0
    running: dict[Future[TrialOutcome | None], Job] = {}
    looked = float("-inf")
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            while True:
                if time.monotonic() - looked > _LOOK_S:
                    looked = time.monotonic()
                    if run.run_id not in run.board.runs():
                        return count
                while len(running) < at_once and (job := run.board.take(run.run_id, run.name)) is not None:
                    running[pool.submit(run.attempt, job)] = job
                if not running:
                    time.sleep(_IDLE_S)
                    continue
                for ended in wait(running, timeout=_IDLE_S, return_when=FIRST_COMPLETED).done:
                    outcome = ended.result()
                    count += outcome is not None
                    told(running.pop(ended), outcome)
        finally:
            run.is_over.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _require_same(run_id: str, code: str, facts: RunFacts, settings: Settings) -> None:
    theirs = Identity(facts.engine_version, code, facts.config_hash)
    other = difference(theirs, identity(settings))
    if other is not None:
        raise EnvironmentProblem(f"run {run_id}: {other}")
