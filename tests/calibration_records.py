"""Records of calibration nights for the tests of what is made of them."""

from __future__ import annotations

from typing import Any

from evolution.calibration import FinalistRecord, NightRecord


def finalist(**changes: Any) -> FinalistRecord:
    """A finalist that passed every check and its look."""
    fields: dict[str, Any] = {
        "score": 1.0,
        "failed": (),
        "figures": {"validation-psr": 0.9},
        "deflated_by_spread": 0.6,
        "vault_psr": 0.97,
        "vault_drawdown": 0.1,
    }
    return FinalistRecord(**fields | changes)


def night(**changes: Any) -> NightRecord:
    """A null night of 200 candidates whose best beat buy and hold, entered the pool and failed its look."""
    fields: dict[str, Any] = {
        "kind": "null",
        "number": 0,
        "seed": 1,
        "candidates": 200,
        "scored": 150,
        "best_score": 1.0,
        "best_beats": True,
        "is_exhaustive": False,
        "finalists": (finalist(),),
        "entered": 1,
        "outcome": "failed",
        "cpu_s": 12.0,
        "looks": 1,
    }
    return NightRecord(**fields | changes)
