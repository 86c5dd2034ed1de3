"""What a Dask worker holds of a run and does for it: its bench and its cages, and one candidate after the other.

The leader of the run (``flows.cluster``) sends the bars of train as a parcel, then candidates. The cage is the worker's own, with the mode
that the ``trigate.toml`` of its machine names. A worker opens no data set and no store, so it has no validation bars and no vault, and it
asks no model. It must have the leader's program and configuration, or its figures would not compare; it refuses otherwise.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from distributed import WorkerPlugin, get_worker

from evolution.bench_parcel import NoParcelError, unpack
from evolution.evaluate import CageEvaluator, Foresight, run_trial
from evolution.foresight import NoiseBench
from flows import opening
from flows.identity import difference, identity
from flows.problems import Problem
from flows.settings import home_folder, load_settings

if TYPE_CHECKING:
    from evolution.bench import CellBench
    from evolution.candidate import Candidate
    from evolution.cascade import Cascade
    from evolution.trial import Trial
    from flows.identity import Identity


class Unfit(NamedTuple):
    """A worker that cannot try candidates of the run."""

    reason: str


class _Bench(NamedTuple):
    """What one candidate after the other is tried on."""

    bench: CellBench
    evaluator: CageEvaluator
    foresight: Foresight


class Workplace(WorkerPlugin):  # type: ignore[misc]  # Dask's own class, which is not there for everybody who checks types
    """A run on a worker. Dask brings it to every worker, to those that join later, too, and takes it away when the run is over.

    Args:
        theirs: What the leader's results are bound to.
        parcel: The bars of train, the cells and the costs (``evolution.bench_parcel``).
    """

    def __init__(self, theirs: Identity, parcel: bytes) -> None:
        self._theirs = theirs
        self._parcel = parcel

    def setup(self, worker: object) -> None:  # noqa: ARG002 - Dask passes it
        """Be ready. Cages open with the first candidate: a leader that was killed leaves a workplace behind, and no cages of it."""
        self._gate = threading.Lock()
        self._is_over = False
        self._stack = ExitStack()
        self._opened: _Bench | Unfit | None = None

    def teardown(self, worker: object) -> None:  # noqa: ARG002 - Dask passes it
        """Close the cages. What still runs in them ends as killed, and nobody waits for it any more."""
        with self._gate:
            self._is_over = True
            self._stack.close()

    def opened(self) -> _Bench | Unfit:
        """Bench and cages, opened by whoever asks first."""
        with self._gate:
            if self._is_over:
                return Unfit("the run is over")
            if self._opened is None:
                try:
                    self._opened = self._open()
                except (Problem, NoParcelError) as problem:
                    self._opened = Unfit(str(problem))
            return self._opened

    def is_over(self) -> bool:
        """Whether the run was taken away; what a candidate comes to after that is the closing's doing."""
        return self._is_over

    def _open(self) -> _Bench | Unfit:
        settings = load_settings(None, home_folder())
        other = difference(self._theirs, identity(settings))
        if other is not None:
            return Unfit(other)
        bars, bench = unpack(self._parcel)
        noise, limits = NoiseBench.build(bench), settings.cage_limits()
        cage = self._stack.enter_context(opening.gate_cage(bars, settings.cage))
        noise_cage = self._stack.enter_context(opening.gate_cage(noise.bars, settings.cage))
        return _Bench(
            bench, CageEvaluator(cage=cage, bench=bench, limits=limits), Foresight.in_cage(noise_cage, noise, limits)
        )


def check_in(name: str, dask_worker: Any) -> str | None:
    """Whether this worker, which Dask hands in, can try candidates of a run: None when it can, else why not."""
    found = dask_worker.plugins[name].opened()
    return found.reason if isinstance(found, Unfit) else None


def attempt(name: str, candidate: Candidate, cascade: Cascade) -> Trial | Unfit:
    """Gates, cage and score for one candidate, here."""
    place = get_worker().plugins.get(name)
    if place is None:
        return Unfit("the run is not on this worker")
    found = place.opened()
    if isinstance(found, Unfit):
        return found
    trial = run_trial(candidate, found.evaluator, found.bench, foresight=found.foresight, cascade=cascade)
    return Unfit("the run is over") if place.is_over() else trial
