"""``SearchPlan``: how wide and how long a search is, and how it fills its places."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """How wide and how long a search is, and how it fills its places."""

    generations: int
    """All generations, the starting one included."""
    population: int
    """Candidates per generation, and most survivors."""
    crossover_rate: float = 0.3
    """Chance that a place of the next generation goes to a crossover of two parents (0..1)."""
    llm_share: float = 0.0
    """Chance that a place goes to a language model (0..1); from generation 1 on."""
    box_width: float = 0.0
    """What differs by less does not stand side by side on the front: in standard errors of each objective over the folds, measured on
    the starting generation. 0 keeps everybody. Survivors and parents are chosen by the values as they are."""
    islands: int = 1
    """Parts of the population that are selected apart; place ``i`` belongs to island ``i % islands``."""
    migrate_every: int = 4
    """Generations between two migrations from island to island."""
    archive_rate: float = 0.0
    """Chance that a place takes a parent from the archive of ways of trading instead of from the survivors (0..1)."""
    tune_rate: float = 0.0
    """Chance that a place of a mutation goes to one step of constant optimisation (0..1)."""
    patience: int | None = None
    """Generations in a row without a larger hypervolume on train after which the search ends; None never ends it."""
    is_control: bool = False
    """The control arm: parents are drawn evenly from the starting generation, so nothing is ever learned from a score."""

    def __post_init__(self) -> None:
        allowed = {
            "generations": (self.generations >= 1, "at least 1"),
            "population": (self.population >= 4, "at least 4"),
            "crossover_rate": (0 <= self.crossover_rate <= 1, "between 0 and 1"),
            "box_width": (0 <= self.box_width <= 4, "between 0 and 4"),
            "llm_share": (0 <= self.llm_share <= 1, "between 0 and 1"),
            "islands": (1 <= self.islands <= self.population // 4, "at least 1, with 4 places on each"),
            "migrate_every": (self.migrate_every >= 1, "at least 1"),
            "archive_rate": (0 <= self.archive_rate <= 1, "between 0 and 1"),
            "tune_rate": (0 <= self.tune_rate <= 1, "between 0 and 1"),
            "patience": (self.patience is None or self.patience >= 1, "at least 1, or None"),
        }
        for name, (is_allowed, rule) in allowed.items():
            if not is_allowed:
                raise ValueError(f"search plan: {name} = {getattr(self, name)}, must be {rule}")
