"""The morning report as a file: runs the few candidates that it draws, gathers the rest, and writes one HTML page.

Equity curves are not stored with trials. Those of the candidates that a page shows are made by running them once more on the train cells,
in the cage, as the search did; a curve counts only if it comes from the same orders that the trial is stored with. What was made
is kept in ``<home>/reports/curves``, and a page comes out without the curves that cannot be made any more, and says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.bench import CellBench
from evolution.evaluate import CageEvaluator, behaviour_digest
from evolution.morning import GENERATOR, Curve, curve_of, morning_of, read_stored, render_page
from evolution.morning.shown import is_drawable
from flows import opening
from flows.clock import now
from flows.identity import config_hash
from flows.output import ORIGINS
from flows.problems import EnvironmentProblem, Problem, UsageProblem
from flows.settings import load_settings
from runtime.cage import CageError
from runtime.kernel import RunEnd
from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evolution.ledger import TrialLedger
    from evolution.morning import Stored
    from evolution.pool import Pool
    from evolution.run import RunFacts
    from evolution.trial import Trial
    from flows.night import Night
    from flows.settings import Settings
    from runtime.market import DataSet

# The line that makes a page ours stands near its beginning.
_LOOKED_AT = 4_096


def report_file(home: Path, run_id: str) -> Path:
    """Where the page of a run is kept unless somebody names another place."""
    return home / "reports" / f"{run_id}.html"


def write_report(  # noqa: PLR0913 - where from, of what, and where to
    ledger: TrialLedger,
    pool: Pool,
    home: Path,
    run_id: str,
    *,
    to: Path | None = None,
    is_cut_short: bool = False,
    is_forced: bool = False,
    stored: Stored | None = None,
) -> Path:
    """Make the page of a run.

    Args:
        ledger: holds the run.
        pool: of the same store.
        home: holds data sets, kept curves, and the page where ``to`` is None.
        run_id: of a stored run, or the beginning of it.
        to: the file; None writes the one of ``report_file``.
        is_cut_short: what the caller knows of the run's process.
        is_forced: overwrite a file that is no page of ours.
        stored: the run, where the caller has read it already.

    Raises:
        UnknownIdError: there is no such run.
        UsageProblem: the file is somebody else's, or a folder.
        EnvironmentProblem: it cannot be written.
    """
    target = _checked(to, is_forced=is_forced) if to is not None else None
    stored = stored or read_stored(ledger, pool, run_id, is_cut_short=is_cut_short)
    if target is None:
        target = _checked(report_file(home, stored.summary.record.id), is_forced=is_forced)
    page = render_page(morning_of(stored, _curves(stored, home), made=now(), origin=_origin(stored, home)))
    _write(target, page.encode("utf-8"), is_private_folder=to is None)
    return target


def keep_curves(night: Night, home: Path) -> None:
    """Make the curves that the run's page will show while its cage is open anyway. One that cannot be made costs nothing else."""
    stored = read_stored(night.ledger, night.pool, night.run_id)
    evaluator = CageEvaluator(cage=night.cage, bench=night.bench, limits=night.settings.cage_limits())
    shelf = _Shelf(home, night.facts)
    with contextlib.suppress(CageError):
        for trial in stored.shown:
            if shelf.find(trial) is None and is_drawable(trial):
                _draw(trial, evaluator, night.bench, shelf)


def _curves(stored: Stored, home: Path) -> Mapping[str, Curve | str]:
    facts = stored.summary.record.facts
    shelf = _Shelf(home, facts)
    found: dict[str, Curve | str] = {}
    for trial in stored.shown:
        found[trial.candidate.id] = shelf.find(trial) or f"its runs came to no end ({trial.outcome.value})"
    missing = [
        trial for trial in stored.shown if is_drawable(trial) and not isinstance(found[trial.candidate.id], Curve)
    ]
    if missing:
        found |= _run_again(missing, facts, home, shelf)
    return found


def _origin(stored: Stored, home: Path) -> str:
    """Figures on synthetic bars are labelled as such; a set that is gone has no label any more."""
    facts = stored.summary.record.facts
    try:
        found = next((each for each in opening.known_sets(home) if each.name == facts.dataset), None)
    except Problem:
        return ""
    return "" if found is None else ORIGINS[found.label]


def _run_again(trials: Iterable[Trial], facts: RunFacts, home: Path, shelf: _Shelf) -> Mapping[str, Curve | str]:
    """Run candidates of a stored run once more, in a cage that holds its train bars and nothing else."""
    try:
        settings = load_settings(None, home)
        dataset = _same_world(facts, settings, home)
        bars = dataset.train_bars()
        bench = CellBench.build(bars, dataset.train_cells(), settings.run_config())
        with ExitStack() as stack:
            cage = stack.enter_context(opening.gate_cage(bars, settings.cage))
            evaluator = CageEvaluator(cage=cage, bench=bench, limits=settings.cage_limits())
            return {trial.candidate.id: _draw(trial, evaluator, bench, shelf) for trial in trials}
    except (Problem, CageError) as error:
        return {trial.candidate.id: str(error) for trial in trials}


def _same_world(facts: RunFacts, settings: Settings, home: Path) -> DataSet:
    """The run's data set.

    Raises:
        UsageProblem: it is gone or another one, or runs would not compare with those of then.
    """
    if facts.engine_version != ENGINE_VERSION:
        raise UsageProblem(f"the run was made by engine {facts.engine_version}, and this is {ENGINE_VERSION}")
    if facts.config_hash != config_hash(settings):
        raise UsageProblem("cash, costs or limits are set differently now than in the run")
    dataset = opening.named_set(facts.dataset, home)
    if dataset.sha256 != facts.dataset_sha256:
        raise UsageProblem(f"the bars of {facts.dataset} are not those of the run any more")
    return dataset


def _draw(trial: Trial, evaluator: CageEvaluator, bench: CellBench, shelf: _Shelf) -> Curve | str:
    evaluation = evaluator.evaluate(trial.candidate.source)
    reports = evaluation.reports
    if len(reports) != len(bench.cells) or any(report.end is not RunEnd.FINISHED for report in reports):
        return "its runs did not come to their end this time"
    if behaviour_digest(reports) != trial.behaviour:
        return "it asked for other orders this time than it is stored with"
    curve = curve_of(bench.cells, reports)
    if curve is None:
        return "it has no bars to draw"
    shelf.keep(trial, curve)
    return curve


@dataclass(frozen=True, slots=True)
class _Shelf:
    """Curves that were made before. What is damaged or cannot be kept is made again."""

    home: Path
    facts: RunFacts

    def find(self, trial: Trial) -> Curve | None:
        try:
            return Curve.of_document(json.loads(self._file(trial).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, trial: Trial, curve: Curve) -> None:
        with contextlib.suppress(EnvironmentProblem):
            _write(self._file(trial), json.dumps(curve.document()).encode(), is_private_folder=True)

    def _file(self, trial: Trial) -> Path:
        facts = self.facts
        bound = (
            trial.candidate.source.sha256,
            facts.dataset_sha256,
            facts.config_hash,
            facts.engine_version,
            trial.behaviour,
        )
        return self.home / "reports" / "curves" / f"{hashlib.sha256(repr(bound).encode()).hexdigest()[:32]}.json"


def _checked(path: Path, *, is_forced: bool) -> Path:
    """The file that will be written, if it may be.

    Raises:
        UsageProblem: something stands there that is no page of ours.
        EnvironmentProblem: it cannot be looked at.
    """
    try:
        target = path.resolve()
        kind = target.stat().st_mode
        if stat.S_ISDIR(kind):
            raise UsageProblem(f"report {path}: is a folder; name a file in it")
        if not stat.S_ISREG(kind):
            raise UsageProblem(f"report {path}: is no regular file; name another one")
        with target.open("rb") as file:
            is_ours = GENERATOR.encode() in file.read(_LOOKED_AT)
    except FileNotFoundError:
        return target
    except (OSError, RuntimeError) as error:
        raise _cannot_write(path, error) from error
    if not is_ours and not is_forced:
        raise UsageProblem(
            f"report {path}: that file is no report of ours; name another one, or add --force to overwrite it"
        )
    return target


def _write(path: Path, data: bytes, *, is_private_folder: bool) -> None:
    """Write a file for its owner; its name appears only when it is complete.

    Raises:
        EnvironmentProblem: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if is_private_folder:
            for folder in reversed((path.parent, *path.parent.parents)):
                folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: Exception) -> EnvironmentProblem:
    words = (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
    return EnvironmentProblem(f"report {path}: {words}; name a file that you can write, with --html")
