"""Takes the seed strategies off the shelf, in a fixed order."""

from __future__ import annotations

from importlib.resources import files

from runtime.source import StrategySource

SEED_NAMES = ("trend", "breakout", "mean_reversion", "contraction", "momentum", "atr_channel")
"""File names without ``.py``. The order is part of a run's reproducibility: append, never reorder."""


def seed_sources() -> tuple[tuple[str, StrategySource], ...]:
    """Each seed's name and its exact bytes, in the order of ``SEED_NAMES``.

    >>> [name for name, _ in seed_sources()][:2]
    ['trend', 'breakout']
    """
    shelf = files("evolution.seeds")
    return tuple((name, StrategySource((shelf / f"{name}.py").read_bytes())) for name in SEED_NAMES)
