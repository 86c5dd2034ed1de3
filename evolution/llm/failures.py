"""What an answer means that is no answer: shared by all dialects. Pure functions.

Servers differ in how they say it: ``code`` is a string, a number or missing, ``error`` may be one sentence, some report
an error with status 200, and quota trouble comes as 400, 402, 403 and 429 alike. Names are believed before the status, but for those that say no
more than a status does.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evolution.llm.counting import stated_usage, upper_bound
from evolution.llm.outcomes import Fatal, FatalKind, Malformed, Outcome, Refused, Retryable, Trouble
from evolution.llm.plain import one_line
from evolution.llm.usage import Usage

if TYPE_CHECKING:
    from evolution.llm.exchange import Reply
    from evolution.llm.profile import LlmProfile

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
# Codes and types that decide whatever the status is: they come as 400, 403 and 429 alike. First row first.
_NAMES: tuple[tuple[frozenset[str], FatalKind | None], ...] = (
    (
        frozenset(
            {"insufficient_quota", "credit_balance_exhausted", "enforced_spend_limit_reached", "insufficient_balance"}
        ),
        FatalKind.QUOTA,
    ),
    (
        frozenset(
            {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large"}
        ),
        FatalKind.CONTEXT_OVERFLOW,
    ),
    (frozenset({"content_filter", "content_policy_violation", "invalid_prompt"}), None),  # a refusal
    (frozenset({"invalid_api_key", "authentication_error", "permission_error"}), FatalKind.AUTH),
)
# Some providers have no code for it and send plain bad requests; others put money into the type of a rate limit.
_WORDS: tuple[tuple[str, FatalKind], ...] = (
    ("credit balance", FatalKind.QUOTA),
    ("api usage limits", FatalKind.QUOTA),
    ("exceeded your current quota", FatalKind.QUOTA),
    ("prompt is too long", FatalKind.CONTEXT_OVERFLOW),
    ("maximum context length", FatalKind.CONTEXT_OVERFLOW),
    ("exceed context limit", FatalKind.CONTEXT_OVERFLOW),
    ("exceeds the available context size", FatalKind.CONTEXT_OVERFLOW),
    ("exceeds the maximum number of tokens allowed", FatalKind.CONTEXT_OVERFLOW),
    ("api key not valid", FatalKind.AUTH),
)
# One provider has the same words for the quota of a minute, and then says when to come back.
_PASSING_WORDS = "retry in"
# Those of the server mean no more than a status does, and decide only where the status leaves room for them.
_PASSING_NAMES: tuple[tuple[frozenset[str], Trouble], ...] = (
    (frozenset({"rate_limit_exceeded", "rate_limit_error"}), Trouble.RATE_LIMITED),
    (
        frozenset({"overloaded_error", "api_error", "timeout_error", "server_error", "unavailable_error"}),
        Trouble.SERVER,
    ),
)


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
    status = reply.status
    error = _error_in(reply) or _bare_error_in(reply)
    is_passing = status in _RETRYABLE_4XX or (status >= 500 and status not in _FINAL_5XX)
    named = _by_name(error, is_passing=is_passing)
    if named is not None:
        return named
    reason = _reason(reply, error)
    if status == 429:
        return Retryable(trouble=Trouble.RATE_LIMITED, reason=reason)
    if is_passing:
        return Retryable(trouble=Trouble.SERVER, reason=reason)
    if 300 <= status < 400:
        return Fatal(kind=FatalKind.REDIRECT, reason=f"{reason}: put the final address into base_url")
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason=f"{reason}: a web page, not a model")
    return Fatal(kind=_FATAL_STATUS.get(status, FatalKind.BAD_REQUEST), reason=reason)


def no_answer(reply: Reply, what: str, *, top: str, sent: bytes, profile: LlmProfile) -> Outcome:
    """What a success means whose body does not validate as ``what``, like ``chat completion``.

    Args:
        reply: The answer.
        what: Its name, for people.
        top: The field that says that it is one all the same: then a model wrote it, and was paid.
        sent: The request body, for the usage of such an answer.
        profile: For the same.
    """
    if reply.is_page:
        return Fatal(kind=FatalKind.HTML, reason="a web page with status 200, not a model")
    document = _document(reply)
    error = _error_in(reply)
    if error is None:
        if isinstance(document, dict) and top in document:
            return Malformed(reason=f"a {what} that cannot be read", usage=upper_bound(sent, profile))
        return Retryable(trouble=Trouble.MALFORMED, reason=f"status {reply.status} with a body that is no {what}")
    usage = stated_usage(document.get("usage"), sent, profile) if isinstance(document, dict) else Usage()
    outcome = _by_name(error, is_passing=True)
    if outcome is None:
        reason = _reason(reply, error)
        # Gateways put the status of the server behind them into the code.
        if isinstance(error.code, int) and error.code in _FATAL_STATUS:
            outcome = Fatal(kind=_FATAL_STATUS[error.code], reason=reason)
        else:
            outcome = Retryable(trouble=Trouble.SERVER, reason=reason)
    return replace(outcome, usage=usage)


def reported(code: Any, message: Any, usage: Usage) -> Outcome:
    """What an error means that an answer carries inside a success: by its name, else trouble of the server."""
    error = _Error(message=message, code=code)
    said = one_line(str(message or code or "no reason given"), 160)
    outcome = _by_name(error, is_passing=True)
    return replace(outcome or Retryable(trouble=Trouble.SERVER, reason=f"the server failed ({said})"), usage=usage)


def _by_name(error: _Error | None, *, is_passing: bool) -> Outcome | None:
    """What the error's own names and words say, where they are clear enough to overrule the status."""
    if error is None:
        return None
    details = error.details if isinstance(error.details, dict) else {}
    names = {name for name in (error.code, error.type, details.get("error_code")) if isinstance(name, str)}
    reason = one_line(f"{'/'.join(sorted(names))}: {error.message or ''}", 200)
    if any(name.startswith("billing_") for name in names):
        return Fatal(kind=FatalKind.QUOTA, reason=reason)
    for known, kind in _NAMES:
        if names & known:
            return Refused() if kind is None else Fatal(kind=kind, reason=reason)
    said = str(error.message or "").lower()
    for words, kind_of_words in _WORDS:
        if words in said and not (is_passing and _PASSING_WORDS in said):
            return Fatal(kind=kind_of_words, reason=reason)
    for known, trouble in _PASSING_NAMES:
        if names & known and (is_passing or trouble is Trouble.RATE_LIMITED):
            return Retryable(trouble=trouble, reason=reason)
    return None


def answering_model(reply: Reply) -> str:
    """The model that an answer says it is from; empty when it does not say."""
    document = _document(reply) if 200 <= reply.status < 300 else None
    named = document.get("model") if isinstance(document, dict) else None
    return one_line(named, 100) if isinstance(named, str) else ""


def _document(reply: Reply) -> Any:
    """The body as JSON; None when it is none."""
    try:
        return json.loads(reply.document)
    except (ValueError, RecursionError):
        return None


def _error_in(reply: Reply) -> _Error | None:
    """What stands under ``error``, or under that of the only entry of a list."""
    document = _document(reply)
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    try:
        error = _ErrorBody.model_validate(document).error
    except ValidationError:
        return None
    return _Error(message=error) if isinstance(error, str) else error


def _bare_error_in(reply: Reply) -> _Error | None:
    """An error that is the whole body: its fields at the top, or one ``detail``."""
    document = _document(reply)
    if not isinstance(document, dict):
        return None
    if "message" in document:
        return _Error(**{name: document.get(name) for name in ("message", "code", "type")})
    return _Error(message=json.dumps(document["detail"])) if document.get("detail") else None


def _reason(reply: Reply, error: _Error | None) -> str:
    said = one_line(str(error.message), 160) if error is not None and error.message else ""
    return f"status {reply.status}" + (f" ({said})" if said else "")
