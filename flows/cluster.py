"""A night's candidates on a Dask cluster: the leader asks, any worker answers, and the result is that of the leader's own threads.

Prefect's tasks stay in the leader's process, one per candidate, and wait here for what a worker found. Dask carries it, not Prefect's
task runner for Dask: that one sends Prefect's settings along with each task, its password among them, and every worker would have to reach
Prefect's server, which listens on its own machine only.

Whoever reaches a Dask scheduler runs code on its workers, and on whoever takes their answers. So the way there is encrypted, with
certificates on both sides, or does not leave the machine.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from flows.dask_section import DaskSection, open_door
from flows.problems import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evolution.candidate import Candidate
    from evolution.cascade import Cascade
    from evolution.trial import Trial
    from flows.identity import Identity
    from flows.watch import Watch

_CONNECT_S = 30.0
_TURN_S = 0.5
"""Between two looks whether the run is being stopped while a worker is at a candidate."""


class Cluster:
    """A run on a Dask cluster. ``attempt`` is called from several threads.

    Args:
        client: Dask's client.
        name: The run, as the workers know it.
        watch: Told, once, when a candidate comes back untried.
        at_once_here: Candidates that are tried in this process at the same time when workers fail.
    """

    def __init__(self, client: Any, name: str, watch: Watch, *, at_once_here: int) -> None:
        self._client = client
        self._name = name
        self._watch = watch
        self._here = threading.Semaphore(at_once_here)
        self._told: set[str] = set()

    def width(self) -> int:
        """Candidates that the workers try at the same time; 0 while there are none."""
        with suppress(Exception):  # a scheduler that is away has none
            return sum(self._client.nthreads().values())
        return 0

    def attempt(
        self, candidate: Candidate, cascade: Cascade, here: Callable[[], Trial], stopping: threading.Event
    ) -> Trial | None:
        """What a candidate comes to, on whichever worker is free; in this process when none can say. None when the run is being stopped.

        Args:
            candidate: To be tried.
            cascade: What its folds are judged by.
            here: Tries it in this process.
            stopping: Set when nobody waits for the result any more.
        """
        found = self._elsewhere(candidate, cascade, stopping)
        if found is None and not stopping.is_set():
            with self._here:
                return here()
        return found

    def _elsewhere(self, candidate: Candidate, cascade: Cascade, stopping: threading.Event) -> Trial | None:
        from evolution.trial import Trial
        from flows.dask_worker import Unfit, attempt

        try:
            future = self._client.submit(
                attempt, self._name, candidate, cascade, pure=False, key=f"{self._name}-{candidate.id}", retries=1
            )
            while not future.done():
                if stopping.is_set():
                    future.cancel()
                    return None
                with suppress(TimeoutError):
                    future.result(timeout=_TURN_S)
            found: object = future.result()
        except Exception as error:  # noqa: BLE001 - a cluster may fail in any way; a candidate is tried all the same
            self._tell(f"a worker could not answer ({type(error).__name__})")
            return None
        if isinstance(found, Unfit):
            self._tell(f"a worker refused: {found.reason}")
            return None
        # Whoever answers has run code here already by being unpickled; this is for what answers wrongly without meaning to.
        if not isinstance(found, Trial) or _asked(found.candidate) != _asked(candidate):
            self._tell("a worker answered something else than was asked")
            return None
        return found

    def _tell(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._watch.say(f"Dask: {what}; tried here instead")


def _asked(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.run_id, candidate.id, candidate.source.sha256


@contextmanager
def joined(  # noqa: PLR0913 - what is brought, where to, and who is told
    section: DaskSection, run_id: str, theirs: Identity, parcel: bytes, watch: Watch, *, at_once_here: int
) -> Iterator[Cluster]:
    """Bring a run to a cluster; taken away again at the end.

    Raises:
        EnvironmentProblem: the extra is not installed, nobody answers, the cluster is open to others, or a worker would not compute the same.
    """
    client = _connected(section)
    try:
        _require_closed(section, client)
        _settle(section, client, run_id, theirs, parcel)
        yield Cluster(client, run_id, watch, at_once_here=at_once_here)
    finally:
        with suppress(Exception):  # it is gone, and the run has what it came for
            client.unregister_worker_plugin(run_id)
        with suppress(Exception):
            client.close(timeout=5)


def _connected(section: DaskSection) -> Any:
    try:
        import dask

        # Its lines about a lost connection are for whoever runs the cluster; we have a sentence of our own.
        with dask.config.set(
            {"logging": dict.fromkeys(("distributed", "distributed.client", "distributed.core"), "critical")}
        ):
            from distributed import Client, Security
    except ImportError:
        raise EnvironmentProblem(
            f"[dask] scheduler {section.scheduler}: Dask is not installed; pip install 'trigate[dask]' from the checkout, "
            f"or take the section out of trigate.toml"
        ) from None
    for name in ("distributed", "distributed.client", "distributed.core", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = None
    if section.is_encrypted:
        security = Security(
            tls_ca_file=str(section.ca_file),
            tls_client_cert=str(section.cert_file),
            tls_client_key=str(section.key_file),
            require_encryption=True,
        )
    return _answered(
        section, lambda: Client(section.scheduler, security=security, timeout=_CONNECT_S, set_as_default=False)
    )


def _answered(section: DaskSection, connect: Callable[[], Any]) -> Any:
    """What ``connect`` gives, in time: Dask waits for ever for the greeting of something that takes calls and says nothing."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(connect())
        except (OSError, ValueError) as error:
            found.append(error)

    thread = threading.Thread(target=run, name="dask-connect", daemon=True)
    thread.start()
    thread.join(2 * _CONNECT_S)
    fault = found[0] if found else TimeoutError()
    if isinstance(fault, Exception):
        raise EnvironmentProblem(
            f"[dask] scheduler {section.scheduler}: nobody answers there ({type(fault).__name__}); start dask scheduler, or take "
            f"the section out of trigate.toml"
        ) from None
    return fault


def _require_closed(section: DaskSection, client: Any) -> None:
    """The address in the settings may be this machine's own while others reach the same scheduler by another one."""
    found = client.scheduler_info()
    for address in (found["address"], *found["workers"]):
        fault = open_door(address)
        if fault is not None:
            raise EnvironmentProblem(
                f"[dask] scheduler {section.scheduler}: it listens, or has a worker, at {address}, which {fault}"
            )
    if not found["workers"]:
        raise EnvironmentProblem(
            f"[dask] scheduler {section.scheduler}: it has no workers; start one, on each machine: dask worker {section.scheduler}"
        )


def _settle(section: DaskSection, client: Any, run_id: str, theirs: Identity, parcel: bytes) -> None:
    from flows.dask_worker import Workplace, check_in

    try:
        client.register_plugin(Workplace(theirs, parcel), name=run_id)
        answers = client.run(check_in, run_id)
    except Exception as error:  # noqa: BLE001 - the cluster's machines may be in any state
        raise EnvironmentProblem(
            f"[dask] scheduler {section.scheduler}: a worker cannot take the run ({type(error).__name__}: {error}); install the same "
            f"Trigate on its machine"
        ) from None
    for address, reason in sorted(answers.items()):
        if reason is not None:
            raise EnvironmentProblem(f"[dask] worker {address}: {reason}")
