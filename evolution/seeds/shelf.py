"""Takes the seed strategies off the shelf, in a fixed order."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from runtime.model import Timeframe

DOCUMENT_NAMES = ("rsi_reversal", "average_cross", "channel_breakout")
"""File names without ``.json``: seeds in the closed language. Append, never reorder."""

SEED_NAMES = ("trend", "breakout", "mean_reversion", "contraction", "momentum", "atr_channel")
"""File names without ``.py``. The order is part of a run's reproducibility: append, never reorder."""


def seed_sources() -> tuple[tuple[str, StrategySource], ...]:
    """Each seed's name and its exact bytes, in the order of ``SEED_NAMES``.

    >>> [name for name, _ in seed_sources()][:2]
    ['trend', 'breakout']
    """
    shelf = files("evolution.seeds")
    return tuple((name, StrategySource((shelf / f"{name}.py").read_bytes())) for name in SEED_NAMES)


def document_sources(timeframe: Timeframe) -> tuple[tuple[str, StrategySource], ...]:
    """Each seed document's name and its text, written for bars of this step.

    >>> from runtime.model import Timeframe
    >>> name, source = document_sources(Timeframe.parse("4h"))[0]
    >>> name, '"timeframe": "4h"' in source.text
    ('rsi_reversal', True)
    """
    shelf = files("evolution.seeds")
    found = []
    for name in DOCUMENT_NAMES:
        tree = json.loads((shelf / f"{name}.json").read_bytes())
        tree["market"]["timeframe"] = str(timeframe)
        found.append((name, StrategySource((json.dumps(tree, indent=2) + "\n").encode(), Language.SIR)))
    return tuple(found)
