"""What an answer means that is no answer: shared by all dialects. Pure functions.

Servers differ in how they say it: ``code`` is a string, a number or missing, ``error`` may be one sentence, some report
an error with status 200, and quota trouble comes as 400, 402, 403 and 429 alike. Names are believed before the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evolution.llm.outcomes import Fatal, FatalKind, Outcome, Refused, Retryable, Trouble, Usage
from evolution.llm.plain import one_line

if TYPE_CHECKING:
    from evolution.llm.exchange import Reply

_RETRYABLE_4XX = frozenset({408, 409, 425, 429})
# 501 and 505 say that the server cannot do this at all.
_FINAL_5XX = frozenset({501, 505})
_FATAL_STATUS = {
    401: FatalKind.AUTH,
    402: FatalKind.QUOTA,
    403: FatalKind.AUTH,
    404: FatalKind.NOT_FOUND,
    413: FatalKind.CONTEXT_OVERFLOW,
}
# Codes and types that decide whatever the status is. They come as 400, 403 and 429 alike.
_QUOTA_CODES = frozenset({"insufficient_quota", "credit_balance_exhausted", "enforced_spend_limit_reached"})
_OVERFLOW_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large"}
)
# One provider has no code for it, and sends the two as plain bad requests.
_OVERFLOW_WORDS = ("prompt is too long",)
_QUOTA_WORDS = ("your credit balance is too low",)
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
_AUTH_CODES = frozenset({"invalid_api_key", "authentication_error", "permission_error"})
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error"})
_SERVER_CODES = frozenset({"overloaded_error", "api_error", "timeout_error", "server_error", "unavailable_error"})


class Lenient(BaseModel):
    """An answer of a server. Unknown fields are ignored: servers add their own, and they change nothing for us."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Error(Lenient):
    message: Any = None
    code: Any = None
    type: Any = None
    details: Any = None


class _ErrorBody(Lenient):
    error: _Error | str


def failure(reply: Reply) -> Outcome:
    """What an answer with another status than success means."""
    error = _error_in(reply)
    named = _by_name(error)
    if named is not None:
        return named
    reason = _reason(reply, error)
    status = reply.status
    if status == 429:
        return Retryable(trouble=Trouble.RATE_LIMITED, reason=reason)
    if status in _RETRYABLE_4XX or (status >= 500 and status not in _FINAL_5XX):
        return Retryable(trouble=Trouble.SERVER, reason=reason)
    if 300 <= status < 400:
        return Fatal(kind=FatalKind.REDIRECT, reason=f"{reason}: put the final address into base_url")
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason=f"{reason}: a web page, not a model")
    return Fatal(kind=_FATAL_STATUS.get(status, FatalKind.BAD_REQUEST), reason=reason)


def no_answer(reply: Reply, what: str) -> Outcome:
    """What a success means whose body is not ``what`` it should be, like ``chat completion``."""
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason="a web page with status 200, not a model")
    error = _error_in(reply)
    if error is None:
        return malformed(f"status {reply.status} with a body that is no {what}")
    named = _by_name(error)
    if named is not None:
        return named
    reason = _reason(reply, error)
    # Gateways put the status of the server behind them into the code.
    if isinstance(error.code, int) and error.code in _FATAL_STATUS:
        return Fatal(kind=_FATAL_STATUS[error.code], reason=reason)
    return Retryable(trouble=Trouble.SERVER, reason=reason)


def reported(code: Any, message: Any) -> Outcome:
    """What an error means that an answer carries inside a success: by its name, else trouble of the server."""
    error = _Error(message=message, code=code)
    said = one_line(str(message or code or "no reason given"), 160)
    return _by_name(error) or Retryable(trouble=Trouble.SERVER, reason=f"the server failed ({said})")


def malformed(reason: str, usage: Usage | None = None) -> Retryable:
    """A success that does not follow the protocol."""
    return Retryable(trouble=Trouble.MALFORMED, reason=reason, usage=usage or Usage())


def _by_name(error: _Error | None) -> Outcome | None:
    """What the error's own names say, where they are clear enough to overrule the status."""
    if error is None:
        return None
    details = error.details if isinstance(error.details, dict) else {}
    names = {name for name in (error.code, error.type, details.get("error_code")) if isinstance(name, str)}
    reason = one_line(f"{'/'.join(sorted(names))}: {error.message or ''}", 200)
    if names & _QUOTA_CODES or any(name.startswith("billing_") for name in names):
        return Fatal(kind=FatalKind.QUOTA, reason=reason)
    if names & _OVERFLOW_CODES:
        return Fatal(kind=FatalKind.CONTEXT_OVERFLOW, reason=reason)
    if names & _FILTER_CODES:
        return Refused()
    if names & _AUTH_CODES:
        return Fatal(kind=FatalKind.AUTH, reason=reason)
    if names & _LIMIT_CODES:
        return Retryable(trouble=Trouble.RATE_LIMITED, reason=reason)
    if names & _SERVER_CODES:
        return Retryable(trouble=Trouble.SERVER, reason=reason)
    said = str(error.message or "").lower()
    if said.startswith(_QUOTA_WORDS):
        return Fatal(kind=FatalKind.QUOTA, reason=reason)
    if said.startswith(_OVERFLOW_WORDS):
        return Fatal(kind=FatalKind.CONTEXT_OVERFLOW, reason=reason)
    return None


def _error_in(reply: Reply) -> _Error | None:
    try:
        error = _ErrorBody.model_validate_json(reply.body).error
    except ValidationError:
        return None
    return error if isinstance(error, _Error) else _Error(message=error)


def _reason(reply: Reply, error: _Error | None) -> str:
    said = one_line(str(error.message), 160) if error is not None and error.message else ""
    return f"status {reply.status}" + (f" ({said})" if said else "")
