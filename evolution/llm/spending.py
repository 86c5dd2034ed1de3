"""What a run's calls used, in numbers, in words and as a document. Pure values; ``evolution.llm.ledger`` gathers them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evolution.llm.usage import Usage
from evolution.plural import plural

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpending:
    """What one profile's calls used."""

    profile: str
    model: str
    usage: Usage = field(default_factory=Usage)
    """As reported, or our own upper bound where nothing credible was."""
    charged_tokens: int = 0
    """What counts against the budget: the usage, and the upper bounds of calls that are still under way or were cut off."""
    money: float | None = None
    """None when the profile has no price."""
    currency: str | None = None

    def plus(self, usage: Usage, *, charged_tokens: int, money: float | None, currency: str | None) -> ProfileSpending:
        """With one more call."""
        total = self.money if money is None else (self.money or 0.0) + money
        return replace(
            self,
            usage=self.usage + usage,
            charged_tokens=self.charged_tokens + charged_tokens,
            money=total,
            currency=currency or self.currency,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a run's calls used."""

    profiles: tuple[ProfileSpending, ...]
    """By name."""

    @property
    def usage(self) -> Usage:
        """Over all profiles."""
        return sum((each.usage for each in self.profiles), start=Usage())

    @property
    def money(self) -> Mapping[str, float]:
        """By currency; calls of profiles without a price are not in it."""
        sums: defaultdict[str, float] = defaultdict(float)
        for each in self.profiles:
            if each.money is not None and each.currency is not None:
                sums[each.currency] += each.money
        return dict(sums)


def spending_lines(spent: Spending) -> list[str]:
    """One line per profile for a report; none when no model was called.

    >>> one = ProfileSpending(profile="big", model="m", usage=Usage(calls=2, prompt_tokens=900, completion_tokens=80))
    >>> spending_lines(Spending(profiles=(one,)))
    ['profile big (m): 2 calls, 900 prompt and 80 answer tokens, price unknown']
    """
    return [_line(each) for each in spent.profiles]


def _line(each: ProfileSpending) -> str:
    usage = each.usage
    calls = plural(usage.calls, "call")
    tokens = f"{usage.prompt_tokens} prompt and {plural(usage.completion_tokens, 'answer token')}"
    bound = f" ({usage.estimated_calls} at our own upper bound)" if usage.estimated_calls else ""
    money = "price unknown" if each.money is None else f"{each.money:.4f} {each.currency}"
    return f"profile {each.profile} ({each.model}): {calls}, {tokens}{bound}, {money}"


def spending_document(spent: Spending) -> dict[str, Any]:
    """The same for ``--json``."""
    usage = spent.usage
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "estimated_calls": usage.estimated_calls,
        "money": dict(spent.money),
        "profiles": [
            {
                "profile": each.profile,
                "model": each.model,
                "calls": each.usage.calls,
                "prompt_tokens": each.usage.prompt_tokens,
                "completion_tokens": each.usage.completion_tokens,
                "estimated_calls": each.usage.estimated_calls,
                "charged_tokens": each.charged_tokens,
                "money": each.money,
                "currency": each.currency,
            }
            for each in spent.profiles
        ],
    }
