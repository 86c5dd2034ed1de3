"""One request and its answer as bytes: the border between what a model says and how it is carried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evolution.llm.outcomes import FatalKind, Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete answer, of any status. The key is already blanked out of it, should the server have echoed it."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def document(self) -> bytes:
        """The body without the byte order mark that some gateways put in front of it."""
        return self.body.removeprefix(b"\xef\xbb\xbf")

    @property
    def is_page(self) -> bool:
        """Whether this is a web page: something between us and the model answered."""
        return "html" in self.headers.get("content-type", "").lower() or self.document.lstrip()[:1] == b"<"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """No complete answer."""

    why: Trouble | FatalKind
    reason: str
    """One clause, in our own words: an error's own text could repeat a header."""
    may_be_billed: bool = False
    """Whether the other end may have written an answer, and may ask money for it."""


class Transport(Protocol):
    """Carries one request. Safe to use from several threads.

    It never retries, never follows a redirect, and never raises for what a server or a network does.
    """

    def post(self, path: str, body: bytes, *, timeout_s: float) -> Reply | Broken:
        """Send ``body`` as JSON and take the whole answer, within ``timeout_s`` seconds altogether."""
        ...

    def close(self) -> None:
        """Drop connections; calls under way, and any after that, end as ``FatalKind.CLOSED``."""
        ...
