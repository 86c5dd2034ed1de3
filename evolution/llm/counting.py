"""Token counts: what a server claims, where it can be believed, and our own upper bound where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolution.llm.outcomes import Usage

if TYPE_CHECKING:
    from evolution.llm.profile import LlmProfile

# A count beyond this is a slip of the server, not a bill.
_CREDIBLE_TOKENS = 10_000_000
_BYTES_PER_TOKEN = 3
"""Of English and code, on the low side, so that an estimate is an upper bound; four is the usual figure."""


def estimated_tokens(sent: bytes) -> int:
    """Upper bound of the tokens of a request body."""
    return len(sent) // _BYTES_PER_TOKEN + 1


def upper_bound(sent: bytes, profile: LlmProfile) -> Usage:
    """What one attempt may use at most: the estimate of its prompt, and the longest answer that was asked for."""
    return Usage(prompt_tokens=estimated_tokens(sent), completion_tokens=profile.max_tokens, estimated_calls=1)


def claimed_usage(prompt: Any, completion: Any, sent: bytes, profile: LlmProfile) -> Usage:
    """The usage that an answer reports; our upper bound when a count is missing, negative or absurd."""
    if _is_credible(prompt) and _is_credible(completion):
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    return upper_bound(sent, profile)


def _is_credible(count: Any) -> bool:
    # Exactly int: True is an int to isinstance.
    return type(count) is int and 0 <= count <= _CREDIBLE_TOKENS
