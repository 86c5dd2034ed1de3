"""What a night is asked to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flows.settings import ARCHIVE_RATE, BOX_WIDTH, TUNE_RATE

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a person or a schedule asks for: sizes and names, nothing secret, nothing of the machine."""

    data: str
    """Name of a registered or built-in data set."""
    generations: int
    population: int
    crossover_rate: float
    llm_share: float
    seed: int
    profile: str | None = None
    """Names of LLM profiles, separated by commas; None keeps to the offline operators."""
    resume: str | None = None
    """Id of the run to go on with; None starts a new one."""
    replay: str | None = None
    """Id of the run to run once more from what it has stored, with no network; None asks the models."""
    islands: int = 1
    archive_rate: float = ARCHIVE_RATE
    tune_rate: float = TUNE_RATE
    box_width: float = BOX_WIDTH
    patience: int | None = None
    """Generations without a larger hypervolume after which the search ends; None never ends it."""
    candidates: int | None = None
    """Most candidates; None leaves it to generations and population."""
    cpu_s: float | None = None
    """Most processor time of all candidates, in seconds; None sets no limit."""
    control: bool = False
    """Let the control arm run afterwards with the same budget, and compare both on validation."""
    control_of: str | None = None
    """Id of the run whose control arm this is; None for a search of its own."""
    warm_start: bool = False
    """Start also from the front of earlier nights."""
    warm: tuple[str, ...] = ()
    """``run/candidate`` of those that it started from: what a resumed run starts from, too."""
    documents: bool = False
    """Start also from documents of the closed language."""
    until: datetime | None = None
    """Be done by then, admission included. Of this call only: a resumed run is given another one, or none."""
