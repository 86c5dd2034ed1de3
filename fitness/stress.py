"""Stresses: the same run under worse conditions, as data. Pure changes of a ``RunConfig``; whoever holds a cage runs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.kernel.report import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """One way to make conditions worse."""

    name: str
    """Stable id, stored with the result."""
    description: str
    """What changes, for people."""
    apply: Callable[[RunConfig], RunConfig]
    """The stressed configuration; the original is left alone."""


def double_costs(config: RunConfig) -> RunConfig:
    """Every cost twice: fees, fee minimum and slippage. Without slippage it is exactly linear in the traded notional."""
    costs = config.costs
    return replace(
        config,
        costs=replace(
            costs,
            fee_bps=2 * costs.fee_bps,
            fee_per_unit=2 * costs.fee_per_unit,
            fee_minimum=2 * costs.fee_minimum,
            slippage_bps=2 * costs.slippage_bps,
        ),
    )


def delay_one_bar(config: RunConfig) -> RunConfig:
    """Every order one bar later: an edge that lives on being first does not survive it."""
    return replace(config, decision_delay=config.decision_delay + 1)


STRESSES: tuple[Stress, ...] = (
    Stress(name="double-costs", description="fees and slippage twice as high", apply=double_costs),
    Stress(name="one-bar-late", description="every order one bar later", apply=delay_one_bar),
)
"""The stresses that pool admission runs, on train bars."""
