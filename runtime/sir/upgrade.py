"""Reads documents of older schema versions: one small step from each version to the next.

A stored document is never rewritten; each reading takes the steps again. A step says in newer words what the older
version meant, and leaves what it does not understand for the schema stage to refuse.

- *1.0.0*: ``market`` is a name, ``timeframe`` stands beside it. ``signals.entry`` and ``signals.exit`` are one list of
  rules, all of which must hold. Risk is in percent only: ``stop_loss_percent``, ``take_profit_percent``,
  ``trailing_stop_percent``. Entries are at the market, and there are no products.
- *1.1.0*: signals are lists of such lists, one of which must hold. Distances have a ``value`` and a ``unit``.
- *1.2.0*: ``market`` is an object with name, timeframe and time zone; groups are objects with ``all``; execution has
  ``order_type`` and ``product``; legs, session and explainability are new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.sir.document import SCHEMA_VERSION
from runtime.sir.problems import Category, Problem, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    Tree = dict[str, Any]

# What versions without products meant.
_PRODUCTS = (("long", "delivery"), ("short", "carry_forward"))
_DISTANCES = ("stop_loss", "take_profit", "trailing_stop")


def _give_units(tree: Tree) -> Tree:
    """1.0.0 to 1.1.0."""
    new = tree | {"schema_version": "1.1.0"}
    signals, risk = tree.get("signals"), tree.get("risk")
    if isinstance(signals, dict):
        new["signals"] = signals | {k: [signals[k]] for k in ("entry", "exit") if isinstance(signals.get(k), list)}
    if isinstance(risk, dict):
        old = {f"{name}_percent": name for name in _DISTANCES if name not in risk}
        new["risk"] = {
            old.get(key, key): {"value": value, "unit": "percent"} if key in old and value is not None else value
            for key, value in risk.items()
        }
    return new


def _give_shapes(tree: Tree) -> Tree:
    """1.1.0 to 1.2.0."""
    new = tree | {"schema_version": "1.2.0"}
    if isinstance(tree.get("market"), str):
        new["market"] = {"name": tree["market"]}
        if "timeframe" in tree:
            new["market"]["timeframe"] = new.pop("timeframe")
    signals, execution = tree.get("signals"), tree.get("execution")
    if isinstance(signals, dict):
        new["signals"] = signals | {k: _groups(signals[k]) for k in ("entry", "exit") if k in signals}
    if isinstance(execution, dict):
        # Equality, not a look-up: what stands there may be anything.
        product = next((product for way, product in _PRODUCTS if execution.get("direction") == way), None)
        if product is not None:
            new["execution"] = {"order_type": "market", "product": product} | execution
    return new


def _groups(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [{"all": group} if isinstance(group, list) else group for group in value]


class Step(NamedTuple):
    """From one version to the next."""

    to: str
    take: Callable[[Tree], Tree]


STEPS: dict[str, Step] = {"1.0.0": Step("1.1.0", _give_units), "1.1.0": Step("1.2.0", _give_shapes)}


def upgrade(tree: Tree) -> Tree | Problem:
    """The document in the newest version."""
    version = tree.get("schema_version")
    while version != SCHEMA_VERSION:
        step = STEPS.get(version) if isinstance(version, str) else None
        if step is None:
            return Problem(
                category=Category.VALIDATION,
                rule="schema-version",
                where="/schema_version",
                what="it is missing" if version is None else f"{shown(version)} is unknown",
                why=f"this program reads {', '.join(STEPS)} and {SCHEMA_VERSION}",
                ask=f"is the document written for {SCHEMA_VERSION}",
            )
        tree, version = step.take(tree), step.to
    return tree
