"""Live bars accrue to the vault by themselves: after each day of a live run, and when it ends, its data set is brought up to date.

Not by the runner, which never opens a vault: by the import, in a process of its own (``python -m flows.accrual SET``), with the request
that made the set. So what joins is what the feed tells of closed bars then, corrections included, for all symbols of the set and in
order, and what a run took stays in the run's own store. New bars only ever go to the vault; no search sees them, no figure of them is
shown, and what they do to an error budget is what every refresh does: the part of a vault that is later than the last look grows.

A set that came from a file does not grow: bars of another source would be another market.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from flows import opening
from flows.commands.signing import PASSPHRASE
from flows.problems import Problem
from flows.settings import home_folder, load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.paper.driver import Step
    from runtime.paper.journal import Books
    from runtime.paper.runner import Watch

_DAY_S = 86_400


@dataclass(slots=True)
class Accruals:
    """The imports that the runs of this process asked for: one per set at a time."""

    home: Path
    _living: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    def begin(self, dataset: str) -> None:
        """Start an import, unless one of this set is at work."""
        with self._turn:
            living = self._living.get(dataset)
            if living is not None and living.poll() is None:
                return
            environment = {name: value for name, value in os.environ.items() if name != PASSPHRASE}
            self._living[dataset] = subprocess.Popen(  # noqa: S603 - our own module, and a name that was registered
                [sys.executable, "-m", "flows.accrual", dataset],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment | {"TRIGATE_HOME": str(self.home)},
                start_new_session=True,
            )

    def wait(self, timeout_s: float) -> None:
        """Until the imports have ended; those that take longer go on by themselves."""
        with self._turn:
            for living in self._living.values():
                try:
                    living.wait(timeout_s)
                except subprocess.TimeoutExpired:
                    continue


@dataclass(slots=True)
class AccruingWatch:
    """Asks for an import with the first bar of each day (UTC). Implements ``Watch``."""

    inner: Watch
    accruals: Accruals
    dataset: str
    _day: int | None = None

    def took(self, run: str, step: Step, books: Books) -> None:
        """A bar was written."""
        day = int(step.bar.ts.timestamp()) // _DAY_S
        if self._day is not None and day != self._day:
            self.accruals.begin(self.dataset)
        self._day = day
        self.inner.took(run, step, books)

    def faulted(self, run: str, reason: str, pause_s: float) -> None:
        """Something that may pass."""
        self.inner.faulted(run, reason, pause_s)


def accrue(home: Path, name: str) -> int:
    """Bring one set up to date by the request that made it; gives the number of new bars, 0 for a set that no feed made.

    Raises:
        UsageProblem, EnvironmentProblem: it could not be; the same call goes on later.
    """
    due = next((each for each in opening.due_refreshes(home) if each.request.name == name), None)
    if due is None:
        return 0
    feeds = load_settings(None, home).feeds
    return opening.fetched_set(feeds, due.feed, due.request, home, lambda _step: None).added.new_bars


def main() -> int:
    """``python -m flows.accrual SET``; what went wrong stands in one line on stderr."""
    try:
        accrue(home_folder(), sys.argv[1])
    except Problem as problem:
        sys.stderr.write(f"data set {sys.argv[1]} is not up to date: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
