"""Which setting to change when an endpoint does not work, as the end of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.llm.outcomes import Fatal, FatalKind, Trouble

if TYPE_CHECKING:
    from evolution.llm.outcomes import Retryable
    from evolution.llm.profile import LlmProfile


def way_out(profile: LlmProfile, outcome: Fatal | Retryable) -> str:
    """``; `` and what to do; empty where nothing in the settings can help."""
    section = f"[llm.{profile.name}]"
    if isinstance(outcome, Fatal):
        words = _ways_out(profile, section).get(outcome.kind, "")
    elif outcome.trouble is Trouble.CONNECTION:
        words = f"check that {profile.base_url} is up, or change base_url in {section}"
    elif outcome.trouble is Trouble.TIMEOUT:
        words = f"raise the timeouts in {section} if it is only slow"
    elif outcome.trouble is Trouble.MALFORMED:
        words = f"check base_url ({profile.base_url}) and dialect ({profile.dialect}) in {section}"
    else:
        words = ""
    return f"; {words}" if words else ""


def _ways_out(profile: LlmProfile, section: str) -> dict[FatalKind, str]:
    key = f"in {profile.key_variable}" if profile.key_env else f"by key_env in {section}, which is not set"
    return {
        FatalKind.AUTH: f"check the key {key}",
        FatalKind.QUOTA: "top up the account, or choose another profile",
        FatalKind.BAD_REQUEST: f"check dialect, max_tokens, max_tokens_field, temperature and documents_as in {section}",
        FatalKind.NOT_FOUND: f"check model ({profile.model!r}), base_url and dialect in {section}",
        FatalKind.REDIRECT: f"change base_url in {section}",
        FatalKind.HTML: f"check base_url ({profile.base_url}) in {section}: something else than a model answers there",
        FatalKind.NOT_STORED: "replay with the settings and the version of the first run, or start a new one",
    }
