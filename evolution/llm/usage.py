"""What calls to a model have used: counts that add up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of some calls; add them up with ``+``.

    >>> Usage(calls=1, prompt_tokens=900, completion_tokens=100) + Usage(calls=2)
    Usage(calls=3, prompt_tokens=900, completion_tokens=100, estimated_calls=0)
    """

    calls: int = 0
    """Requests that were sent, failed ones included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Reasoning tokens included."""
    estimated_calls: int = 0
    """Calls that were answered without a credible token count: they are in the sums above at our own upper bound."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated_calls=self.estimated_calls + other.estimated_calls,
        )
