"""What a run tells while it lasts: a small protocol, and the console that follows it."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from flows.output import console, plain

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from evolution.trial import Trial


class Watch(Protocol):
    """Told what happens, from several threads at once. Must return quickly and never raise."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def now(self, text: str) -> None:
        """What is happening at the moment; replaces the last such text."""

    def expect(self, *, generations: int, candidates: int, done: int) -> None:
        """How long the whole run is, and how many of its candidates were done before it was cut short."""

    def generation_began(self, generation: int) -> None:
        """The candidates of a generation are about to run."""

    def trial_ended(self, trial: Trial) -> None:
        """One candidate is done."""

    def generation_ended(self, generation: int, *, best: float | None, front: int) -> None:
        """A generation is selected: the best seed score so far and the size of the front."""


class SilentWatch:
    """For scheduled runs: Prefect's UI and the report say it all."""

    def say(self, text: str) -> None:
        """Nothing."""

    def now(self, text: str) -> None:
        """Nothing."""

    def expect(self, *, generations: int, candidates: int, done: int) -> None:
        """Nothing."""

    def generation_began(self, generation: int) -> None:
        """Nothing."""

    def trial_ended(self, trial: Trial) -> None:
        """Nothing."""

    def generation_ended(self, generation: int, *, best: float | None, front: int) -> None:
        """Nothing."""


class ConsoleWatch:
    """A line per generation that stays, and one moving line: what runs now and how long is left.

    Without a terminal (pipe, log file) the moving line is left out, so that the output is the same few lines.
    Writes to stderr when ``stderr`` is set, which leaves stdout to one JSON document.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        self._console: Console = console(stderr=stderr)
        self._generations = 0
        self._outcomes: Counter[str] = Counter()
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._progress = _progress(self._console)
            self._task = self._progress.add_task("starting", total=None)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        """Print a line above the moving one."""
        self._console.print(plain(text), soft_wrap=True)

    def now(self, text: str) -> None:
        """Change the words of the moving line."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=plain(text))

    def expect(self, *, generations: int, candidates: int, done: int) -> None:
        """Set the length of the bar; the time left is estimated from here on."""
        self._generations = generations
        if self._progress is not None and self._task is not None:
            self._progress.reset(self._task, total=candidates, completed=done)

    def generation_began(self, generation: int) -> None:
        """Start counting outcomes anew."""
        self._outcomes.clear()
        self._began = time.monotonic()
        self.now(self._title(generation))

    def trial_ended(self, trial: Trial) -> None:
        """Count the outcome and move the bar."""
        self._outcomes[trial.outcome.value] += 1
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)
            self.now(f"{self._title(trial.candidate.generation)}: {trial.candidate.id} {trial.outcome.value}")

    def _title(self, generation: int) -> str:
        """Generations are counted from 0 in ids, so the number that a person sees is the one of the ids."""
        return f"generation g{generation:03d} ({generation + 1} of {self._generations})"

    def generation_ended(self, generation: int, *, best: float | None, front: int) -> None:
        """The line that stays."""
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self._outcomes.items()))
        score = "none yet" if best is None else f"{best:.3f}"
        self.say(
            f"{self._title(generation)}: {counts}; best score {score}; "
            f"front {front}; {time.monotonic() - self._began:.1f} s"
        )


def _progress(out: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left", markup=False),
        TimeRemainingColumn(),
        console=out,
        transient=True,
    )
