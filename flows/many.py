"""Paper runs in this process: one, or all of a home, each in a thread of its own with a caged child of its own."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from flows.output import plain
from flows.problems import EnvironmentProblem, UsageProblem
from flows.trading import run_parts
from gates import open_proof_cage
from runtime.cage import CageMode, CageUnavailable
from runtime.paper.runner import RunEnding, run_paper
from runtime.paper.runs import RunRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flows.trading import TradingRoom
    from runtime.cage import Cage
    from runtime.paper.driver import Step
    from runtime.paper.journal import Books
    from runtime.paper.runner import Watch
    from runtime.paper.runs import RunRecord


class TalkingWatch:
    """Tells each bar that brought something, and each fault, on stderr. Implements ``Watch``."""

    def took(self, run: str, step: Step, books: Books) -> None:
        """A bar was written."""
        for fill in step.fills:
            _say(
                f"{run} {step.bar.ts:%Y-%m-%d %H:%MZ} {fill.side.value} {fill.quantity:.10g} at {fill.price:.10g}; "
                f"equity {books.equity:.2f}"
            )
        for asked in step.asked:
            if asked.refused is not None:
                _say(f"{run} {step.bar.ts:%Y-%m-%d %H:%MZ} refused: {plain(asked.refused)}")

    def faulted(self, run: str, reason: str, pause_s: float) -> None:
        """Something that may pass."""
        _say(f"{run} {plain(reason)}; again in {pause_s:g} s")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def run_here(
    room: TradingRoom, run: str, *, speed: float | None = None, quiet: bool = False, watch: Watch | None = None
) -> RunEnding:
    """Run one stored run until it ends."""
    chosen = watch or (None if quiet else TalkingWatch())
    with _proof_cage(room) as cage, run_parts(room, _found(room, run), cage, watch=chosen, speed=speed) as parts:
        return run_paper(parts)


def run_many(room: TradingRoom, runs: Sequence[str]) -> dict[str, RunEnding]:
    """Run several until all have ended. What happens to one does not touch the others."""
    leaving = Event()
    with _proof_cage(room) as cage, ThreadPoolExecutor(len(runs), thread_name_prefix="paper") as pool:
        futures = {run: pool.submit(_one_of_many, room, run, cage, leaving) for run in runs}
        try:
            return {run: future.result() for run, future in futures.items()}
        except BaseException:
            leaving.set()  # the pool waits for its threads
            raise


def _one_of_many(room: TradingRoom, run: str, cage: Cage, leaving: Event) -> RunEnding:
    try:
        with run_parts(room, _found(room, run), cage, watch=TalkingWatch()) as parts:
            return run_paper(replace(parts, leave=leaving.is_set))
    except (UsageProblem, EnvironmentProblem) as problem:
        return RunEnding(status=None, reason=str(problem))


def _found(room: TradingRoom, run: str) -> RunRecord:
    try:
        return room.book.get(run)
    except RunRefused as error:
        raise UsageProblem(str(error)) from error


@contextmanager
def _proof_cage(room: TradingRoom) -> Iterator[Cage]:
    try:
        opened = open_proof_cage(mode=CageMode(room.settings.cage))
    except CageUnavailable as error:
        raise EnvironmentProblem(str(error)) from error
    with opened as cage:
        yield cage
