"""Token counts: what a server claims, where it can be believed, and our own upper bound where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolution.llm.usage import Usage

if TYPE_CHECKING:
    from evolution.llm.profile import LlmProfile

# Servers put texts of their own around a prompt, and count them.
_TEMPLATE_TOKENS = 2_000
# Answers may go a little beyond the limit that was asked for; nobody bills twice of it.
_OVER_LIMIT = 2
# No text has tokens this long. A smaller count would make every ceiling inert.
_MOST_BYTES_PER_TOKEN = 64
_BYTES_PER_TOKEN = 3
"""Of English and code, on the low side, so that an estimate is an upper bound; four is the usual figure."""


def estimated_tokens(sent: bytes) -> int:
    """Upper bound of the tokens of a request body."""
    return len(sent) // _BYTES_PER_TOKEN + 1


def upper_bound(sent: bytes, profile: LlmProfile) -> Usage:
    """What one attempt may use at most: the estimate of its prompt, and the longest answer that was asked for."""
    return Usage(prompt_tokens=estimated_tokens(sent), completion_tokens=profile.max_tokens, estimated_calls=1)


def claimed_usage(prompt: Any, completion: Any, sent: bytes, profile: LlmProfile, text: str = "") -> Usage:
    """The usage that an answer reports; our upper bound when a count is missing or cannot be.

    Args:
        prompt: Tokens of the prompt, as claimed.
        completion: Tokens of the answer, as claimed.
        sent: The request body.
        profile: Says how long an answer may be.
        text: What was written, thoughts left out.
    """
    most_read, most_written = len(sent) + _TEMPLATE_TOKENS, _OVER_LIMIT * profile.max_tokens
    if _is_credible(prompt, len(sent), most_read) and _is_credible(completion, len(text), most_written):
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    return upper_bound(sent, profile)


def stated_usage(counts: Any, sent: bytes, profile: LlmProfile) -> Usage:
    """The usage that an error reports beside itself, in the words of any dialect; nothing when it reports none."""
    counts = counts if isinstance(counts, dict) else {}
    prompt = counts.get("prompt_tokens", counts.get("input_tokens"))
    completion = counts.get("completion_tokens", counts.get("output_tokens"))
    return Usage() if not prompt and not completion else claimed_usage(prompt, completion, sent, profile)


def _is_credible(count: Any, size: int, most: int) -> bool:
    # Exactly int: True is an int to isinstance.
    return type(count) is int and -(-size // _MOST_BYTES_PER_TOKEN) <= count <= most
