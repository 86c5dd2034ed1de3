"""What may be spent on models: ceilings in tokens and money, and which of them a further call would pass.

Pure arithmetic. ``evolution.llm.ledger`` adds up what was charged, in the same transaction in which it charges the next
call, so that calls under way count with their upper bounds and two of them never share the last cent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evolution.llm.profile import LlmProfile

# 24 candidates, half of them by a model, over six generations, at 12,000 tokens a question and two repairs each, come
# to three million. A night that wants more says so.
DEFAULT_RUN_TOKENS = 5_000_000


class Scope(Enum):
    """What a ceiling covers; the value is its name in ``trigate.toml`` and in the ledger."""

    CALL = "call"
    CANDIDATE = "candidate"
    GENERATION = "generation"
    RUN = "run"
    DAY = "day"
    """The UTC day on which a call is sent, over all runs of this store."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ceiling(_Value):
    """Most that may be charged within one scope; None means no ceiling of that kind."""

    tokens: Annotated[int, Field(ge=1)] | None = None
    """Prompt and answer together."""
    money: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """In ``Budget.currency``."""


class Budget(_Value):
    """``[budget]``: ceilings per scope. What is not written has none, except that a run has a default one in tokens."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    call: Ceiling = Ceiling()
    candidate: Ceiling = Ceiling()
    generation: Ceiling = Ceiling()
    run: Ceiling = Ceiling(tokens=DEFAULT_RUN_TOKENS)
    day: Ceiling = Ceiling()

    def ceiling(self, scope: Scope) -> Ceiling:
        """The ceiling of a scope."""
        ceilings: dict[Scope, Ceiling] = {
            Scope.CALL: self.call,
            Scope.CANDIDATE: self.candidate,
            Scope.GENERATION: self.generation,
            Scope.RUN: self.run,
            Scope.DAY: self.day,
        }
        return ceilings[scope]


class BudgetError(Exception):
    """The ceilings do not bound what the profiles may spend: change the setting that the sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Tokens and money of some calls."""

    tokens: int = 0
    money: float = 0.0
    """In the budget's currency; calls without a known price count 0 here, which is why they need a token ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrun:
    """The narrowest ceiling that a further call would pass."""

    scope: Scope
    reason: str
    """One line for people: the setting, what is charged already, and what the call may cost at most."""


def overrun(budget: Budget, wanted: Charge, charged: Mapping[Scope, Charge]) -> Overrun | None:
    """Which ceiling a call would pass; None when it fits under all of them.

    Args:
        budget: The ceilings.
        wanted: Upper bound of the call.
        charged: What stands against each scope already, calls under way included; what is missing counts as nothing.

    >>> budget = Budget(candidate=Ceiling(tokens=1_000))
    >>> overrun(budget, Charge(tokens=400), {Scope.CANDIDATE: Charge(tokens=700)}).reason
    '[budget.candidate] tokens = 1000: 700 charged, and the next call may take 400'
    """
    for scope in Scope:
        ceiling, before = budget.ceiling(scope), charged.get(scope, Charge())
        if ceiling.tokens is not None and before.tokens + wanted.tokens > ceiling.tokens:
            figures = f"{before.tokens} charged, and the next call may take {wanted.tokens}"
            return Overrun(scope=scope, reason=f"[budget.{scope.value}] tokens = {ceiling.tokens}: {figures}")
        if ceiling.money is not None and before.money + wanted.money > ceiling.money:
            figures = f"{before.money:.4f} {budget.currency} charged, and the next call may take {wanted.money:.4f}"
            return Overrun(scope=scope, reason=f"[budget.{scope.value}] money = {ceiling.money:g}: {figures}")
    return None


def require_bounds(budget: Budget, profiles: Iterable[LlmProfile]) -> None:
    """Check that the ceilings bound what the profiles can spend.

    Raises:
        BudgetError: The ceiling of a call is below what a profile may answer; a profile has no price and there is no ceiling in tokens for the run or the day, or its price is in
            another currency than the ceilings in money.
    """
    has_tokens = budget.run.tokens is not None or budget.day.tokens is not None
    has_money = any(budget.ceiling(scope).money is not None for scope in Scope)
    for profile in profiles:
        if budget.call.tokens is not None and budget.call.tokens <= profile.max_tokens:
            raise BudgetError(
                f"[budget.call] tokens = {budget.call.tokens} leaves no room for a question beside an answer of max_tokens = "
                f"{profile.max_tokens} of profile {profile.name!r}: raise it, or lower max_tokens in [llm.{profile.name}]"
            )
        if profile.price is None:
            if not has_tokens:
                raise BudgetError(
                    f"profile {profile.name!r} has no price, so only tokens can bound it: set tokens under "
                    f"[budget.run] or [budget.day], or add [llm.{profile.name}.price]"
                )
        elif has_money and profile.price.currency != budget.currency:
            raise BudgetError(
                f"profile {profile.name!r} is priced in {profile.price.currency} and the budget is in {budget.currency}: "
                f"give [llm.{profile.name}.price] in {budget.currency}, or set currency under [budget]"
            )
