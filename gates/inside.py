"""What runs in the gate cage: gates two and three, and the cells of an evaluation. Named to the cage, imported only there.

The zygote calls ``prepare`` once; each job is one call of ``run`` in a child of its own. Whatever ``run`` returns has been
made in a process that ran a candidate, so the parent checks it field by field (``gates.wire``). ``converse`` is the
strategy's half of a proof run (``gates.proof``): it gets the bars one by one, and the session is the parent's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from gates.contract import judge_loaded
from gates.rules import finding
from gates.sandbox import Watch, compile_tree, prepare_process, run_module
from gates.scan import reparse
from gates.smoke import SMOKE_START, smoke_bars
from gates.wire import MASKED_SYMBOL, PASSED, CellJob, Job, Result, decode_bars, decode_job, encode_job, encode_result
from runtime.desk import printable
from runtime.indicators import compute
from runtime.kernel import (
    Failure,
    LocalHost,
    RunConfig,
    RunEnd,
    RunLimits,
    encode_report,
    failure_of,
    run_host,
    serve_strategy,
)
from runtime.market.bars import PRICE_COLUMNS
from runtime.source import StrategySource
from runtime.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from gates.findings import Finding
    from runtime.cage.line import Line
    from runtime.kernel import Declaration, RunReport
    from runtime.market.bars import Bars
    from runtime.model import Bar, Instrument, Timeframe

_LIMITS = RunLimits()


@dataclass(frozen=True, slots=True)
class _Stage:
    """What every child of this zygote shares, by fork."""

    bars: dict[str, Bars]
    rows: dict[str, list[Bar]]
    smoke: Bars
    smoke_rows: list[Bar]
    watch: Watch


_stage: _Stage


def prepare(blob: bytes) -> None:
    """Set the stage in the zygote: bars as columns and as records, a tamed standard library, warm indicators."""
    global _stage  # noqa: PLW0603 - the one thing that a zygote is for: state that its children find in place
    prepare_process()
    smoke = smoke_bars()
    rows = smoke.rows()
    _stage = _Stage({_WARM: smoke}, {_WARM: rows}, smoke, rows, Watch())
    _warm_up()
    bars = decode_bars(blob)
    _stage = replace(_stage, bars=bars, rows={key: one.rows() for key, one in bars.items()})


def run(data: bytes) -> bytes:
    """Do one job, for whom only the end of it matters: a benchmark, or a zygote that warms up."""
    job = decode_job(data)
    assert isinstance(job, Job)
    return _judge(job, _say_nothing)


def converse(data: bytes, line: Line) -> bytes:
    """Do one job, with a word after each gate and each cell; or take a seat and do what the other end asks until it hangs up.

    A job of no bytes means that the job comes over the line, later: this child was started ahead of it.

    Raises:
        RuntimeError: the run of a seated candidate changed what candidates share.
    """
    if not data:
        _rehearse()
    order = data or line.receive()
    if order is None:
        return b""
    job = decode_job(order)
    if isinstance(job, Job):
        return _judge(job, line.send)
    candidate = compile_candidate(job.source, job.class_name)
    serve_strategy(CandidateHost(candidate, job.instrument, job.timeframe), line, _LIMITS)
    if _stage.watch.sees_change():
        raise RuntimeError("a run changed what candidates share")
    return b""


def _judge(job: Job, tell: Callable[[bytes], None]) -> bytes:
    """Load, then the dry run, then the cells."""
    candidate = compile_candidate(job.source, job.class_name)
    loading = candidate.load() if isinstance(candidate, Candidate) else candidate
    if not isinstance(candidate, Candidate) or not isinstance(loading, Loading):
        return encode_result(Result(None, (cast("Finding", loading),)))
    tell(PASSED)
    findings = () if job.is_known else candidate.dry_run()
    if findings:
        return encode_result(Result(None, findings))
    tell(PASSED)
    for cell in job.cells:
        tell(encode_report(candidate.run_cell(cell, job.config)))
    # After the last run, not after each: looking at all that is shared takes as long as a dry run.
    if _stage.watch.sees_change():
        changed = finding("changes-shared", "a run changed a class or function that it shares with the engine")
        return encode_result(Result(None, (changed,)))
    return encode_result(Result(candidate.class_name, ()))


def _rehearse() -> None:
    """Run a strategy of ours for a few bars while there is nothing else to do.

    A child shares all memory with the zygote and gets a copy of each page that it writes to, even if it only counts a
    reference there. Whatever this touches is copied before a candidate waits for it.
    """
    candidate = compile_candidate(_WARM_SOURCE, "Warm")
    assert isinstance(candidate, Candidate)
    stop = SMOKE_START + _REHEARSED_BARS
    smoke = _stage.smoke.between(0, stop)
    host = CandidateHost(candidate, smoke.instrument, smoke.timeframe)
    config = RunConfig(start=SMOKE_START)
    encode_report(run_host(host, smoke, config, rows=_stage.smoke_rows[:stop], limits=_LIMITS))


def _say_nothing(_message: bytes) -> None:
    pass


class Loading(NamedTuple):
    """One load of a candidate."""

    strategy: type[Strategy]
    printed: list[str]
    """What it printed before it had a log."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A compiled candidate, which every run loads anew."""

    code: CodeType
    class_name: str

    def load(self) -> Loading | Finding:
        """Gate two, and the part of gate three that looks at the loaded class."""
        try:
            loaded = run_module(self.code)
        except BaseException as error:  # noqa: BLE001 - a candidate may raise anything, and nothing of it may pass
            failure = failure_of("load", error)
            return finding("load-raises", _said(failure), line=failure.line or 1)
        value = loaded.namespace.get(self.class_name)
        wrong = judge_loaded(value, self.class_name, Strategy)
        return wrong or Loading(cast("type[Strategy]", value), loaded.printed)

    def dry_run(self) -> tuple[Finding, ...]:
        """The rest of gate three: twice over the smoke bars, each time freshly loaded."""
        smoke, config = _stage.smoke, RunConfig(start=SMOKE_START)
        # Both live until the end: what depends on where objects lie must not find the same places free again.
        hosts = [CandidateHost(self, smoke.instrument, smoke.timeframe) for _ in range(2)]
        first, second = (run_host(host, smoke, config, rows=_stage.smoke_rows, limits=_LIMITS) for host in hosts)
        for report in (first, second):
            if report.failure is not None:
                return (_finding_of(report.failure),)
            if report.end is RunEnd.FLOODED:
                return (finding("order-flood", "it asked for more orders than the cap allows"),)
        if (first.first_tradable_bar, first.order_log) != (second.first_tradable_bar, second.order_log):
            return (finding("not-deterministic", "two runs over the same bars asked for different orders"),)
        return ()

    def run_cell(self, cell: CellJob, config: RunConfig) -> RunReport:
        """One cell of an evaluation, freshly loaded."""
        rows = _stage.rows[cell.key][cell.start - cell.warmup : cell.stop]
        bars = cell.bars(_stage.bars[cell.key])
        host = CandidateHost(self, bars.instrument, bars.timeframe)
        return run_host(host, bars, replace(config, start=cell.warmup), rows=rows, limits=_LIMITS)


class CandidateHost(LocalHost):
    """Loads the candidate afresh when it starts, and puts what it printed before it had a log in front of its log."""

    def __init__(self, candidate: Candidate | Finding, instrument: Instrument, timeframe: Timeframe) -> None:
        # One name everywhere: a dry run that can be told from the real thing is a test that can be cheated, and a symbol is
        # something that a model may have read about.
        super().__init__(Strategy, replace(instrument, symbol=MASKED_SYMBOL), timeframe, _LIMITS)
        self._candidate = candidate
        self._printed: list[str] = []

    def start(self) -> Declaration | Failure:
        """Load, then as any host; what gate two has against it is a failure here."""
        candidate = self._candidate
        loading = candidate.load() if isinstance(candidate, Candidate) else candidate
        if not isinstance(loading, Loading):
            return Failure(hook="load", exception=loading.rule, line=loading.line, message=loading.message)
        self._class, self._printed = loading
        return super().start()

    @property
    def log(self) -> Sequence[str]:
        """All that it said, capped."""
        return (*map(printable, self._printed), *super().log)[: _LIMITS.log_lines]


def compile_candidate(source: bytes, class_name: str) -> Candidate | Finding:
    """Compile what the parent's scan let pass: it is not scanned again, and this module is no gate one.

    Raises:
        ValueError, SyntaxError: no scan has let it pass.
    """
    tree = reparse(StrategySource(source))
    try:
        code = compile_tree(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = ascii(getattr(error, "msg", None) or type(error).__name__)[1:-1][:200]
        return finding("does-not-compile", message, line=getattr(error, "lineno", None) or 1)
    return Candidate(code, class_name)


def _finding_of(failure: Failure) -> Finding:
    rule = "lookback-too-long" if failure.exception == "lookback-too-long" else "raises"
    return finding(rule, _said(failure), line=failure.line or 1)


def _said(failure: Failure) -> str:
    """Our words about a failure: the API's own sentence, or the builtin type and the hook."""
    if failure.exception[:1].islower():  # a rule of StrategyError, not the name of a type
        return f"{failure.message} (in {failure.hook})"[:400]
    return f"raises {failure.exception} in {failure.hook}"


def _warm_up() -> None:
    """Do a few whole jobs before the first fork: what is cached or specialised on first use is then inherited."""
    compute("BBANDS.upper", {name: getattr(_stage.smoke, name) for name in PRICE_COLUMNS}, "close", {})
    cell = CellJob(key=_WARM, start=SMOKE_START, stop=len(_stage.smoke), warmup=SMOKE_START)
    job = encode_job(Job(source=_WARM_SOURCE, class_name="Warm", cells=(cell,)))
    for _ in range(_WARM_UPS):
        run(job)


# The interpreter specialises what it has run eight times.
_WARM_UPS = 8
_WARM = "warm"
_REHEARSED_BARS = 4
_WARM_SOURCE = b"""
class Warm(Strategy):
    def on_start(self):
        self.average = self.indicator("EMA", timeperiod=20)

    def on_bar(self, bar):
        if self.flat and crossed_above(self.average, bar.close):
            self.target(0.5, stop_loss=0.1)
        elif self.long:
            self.close()
"""
