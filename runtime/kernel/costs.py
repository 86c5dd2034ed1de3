"""What a trade costs and what size it may have: fees, slippage, ticks, lots. Pure functions of numbers.

Rounding always goes against the trader, with a tolerance of a billionth of a step so that ``0.3 / 0.1`` is three lots.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.kernel.report import Costs

_TOLERANCE = 1e-9


def fee_of(costs: Costs, quantity: float, price: float) -> float:
    """Fee of one fill: the share of the notional plus the amount per unit, at least the minimum.

    >>> from runtime.kernel.report import Costs
    >>> round(fee_of(Costs(fee_bps=10), 1000, 100), 6)
    100.0
    """
    fee = quantity * price * costs.fee_bps / 10_000.0 + quantity * costs.fee_per_unit
    least = costs.fee_minimum
    return fee if fee > least else least  # noqa: FURB136 - max() is a call, and this is asked three times per fill


def fee_within(fee: float, cash: float, proceeds: float) -> float:
    """The fee of a sale that a cash account can pay: a minimum fee may exceed what a small sale brings in.

    >>> fee_within(10.0, cash=0.0, proceeds=5.0)
    5.0
    """
    fee = fee if fee <= cash + proceeds else cash + proceeds  # noqa: FURB136 - min() is a call, on the path of every sale
    # That sum was rounded; the books must not fall below zero by an ulp.
    while fee > 0.0 and cash - (fee - proceeds) < 0.0:
        fee = math.nextafter(fee, 0.0)
    return fee


def slipped(costs: Costs, price: float, *, buying: bool) -> float:
    """The price after adverse slippage."""
    share = costs.slippage_bps / 10_000.0
    return price * (1.0 + share) if buying else price * (1.0 - share)


def floor_to(value: float, step: float | None) -> float:
    """The largest whole number of steps that is not above ``value`` (None: any value).

    >>> floor_to(300.0000000000001, 1.0)
    300.0
    """
    return value if step is None else _multiple(math.floor(value / step + _TOLERANCE), step)


def ceil_to(value: float, step: float | None) -> float:
    """The smallest whole number of steps that is not below ``value`` (None: any value).

    >>> ceil_to(100.07, 0.01)
    100.07
    """
    return value if step is None else _multiple(math.ceil(value / step - _TOLERANCE), step)


def _multiple(count: int, step: float) -> float:
    """So many steps, as the number that people and data files mean: ``10_007 * 0.01`` is an ulp above 100.07."""
    return count * step if step.is_integer() else round(count * step, _decimals(step))


@lru_cache(maxsize=256)
def _decimals(step: float) -> int:
    return len(f"{step:.15f}".rstrip("0").partition(".")[2])


def affordable(costs: Costs, budget: float, price: float, lot: float | None) -> float:
    """Largest quantity whose notional plus fee is within ``budget`` (quote currency); 0 when nothing is.

    >>> from runtime.kernel.report import Costs
    >>> affordable(Costs(fee_bps=0), 1000.0, 100.0, 1.0)
    10.0
    """
    per_unit = price * (1.0 + costs.fee_bps / 10_000.0) + costs.fee_per_unit
    quantity = budget / per_unit
    if costs.fee_minimum > 0.0:
        quantity = min(quantity, (budget - costs.fee_minimum) / price)
    quantity = floor_to(quantity, lot)
    # Division and the fee's own rounding may leave the sum an ulp above the budget; cash must not become negative.
    while quantity > 0.0 and quantity * price + fee_of(costs, quantity, price) > budget:
        # Of a large quantity a small lot is less than an ulp.
        quantity = min(math.nextafter(quantity, 0.0), quantity - (lot or 0.0))
    return max(quantity, 0.0)
