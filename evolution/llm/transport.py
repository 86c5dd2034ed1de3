"""Carries requests over HTTP. The only module that imports ``httpx``: a move to its successor is one line here.

The event loop lives in a thread of its own because a deadline must bound the whole exchange: the timeouts of a
blocking client bound single reads only, so a server that drips one byte a second would hold a candidate for ever.

What it does not do: it does not pin certificates, and the operating system resolves names without our deadline.
"""

from __future__ import annotations

import re
import threading
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from evolution.llm.exchange import Broken, Reply
from evolution.llm.outcomes import FatalKind, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from evolution.llm.profile import Timeouts

# A long answer of a strategy file is 10 kB of text; reasoning models send some hundred kB beside it.
MAX_REPLY_BYTES = 4 * 1024 * 1024
# Blanking a very short key ("x", for servers that want any) would cut holes into honest answers.
_SHORTEST_BLANKED_KEY = 8
_BEARER = "authorization"
_CLOSED = Broken(why=FatalKind.CLOSED, reason="the client was closed")


class HttpTransport:
    """An ``exchange.Transport`` over HTTP/1.1.

    The environment's proxies are not used, nor are ``.netrc`` files: the address in the profile is where a request
    goes. Answers are asked for uncompressed, and compressed ones are refused, so that a few kB cannot become gigabytes.

    Args:
        base_url: Where ``path`` is appended to.
        key: Sent with each request; None sends none.
        timeouts: ``call_s`` is not used here: each ``post`` is told its own limit.
        key_header: Where the key goes; in ``authorization`` as a bearer token.
        headers: Sent with each request.
        max_reply_bytes: Cap of one answer.
        carrier: Stands in for the network in tests.
    """

    def __init__(  # noqa: PLR0913 - what an endpoint is told apart by
        self,
        base_url: str,
        key: SecretStr | None,
        timeouts: Timeouts,
        *,
        key_header: str = _BEARER,
        headers: Mapping[str, str] | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        carrier: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._key = key
        self._echo = _echo_of(key)
        self._key_header = key_header
        self._read_s = timeouts.read_s
        self._max_reply_bytes = max_reply_bytes
        self._client = httpx.AsyncClient(
            base_url=base_url,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(
                connect=timeouts.connect_s, read=timeouts.read_s, write=timeouts.write_s, pool=timeouts.connect_s
            ),
            headers={
                **(headers or {}),
                "accept": "application/json",
                "accept-encoding": "identity",
                "user-agent": "trigate",
            },
            transport=carrier,
        )
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal(name="llm-transport"))
        # Last in, first out. Without the second line an interrupted run would wait for the answers still under way.
        self._stack.callback(self._portal.call, self._portal.stop, True)
        self._stack.callback(self._portal.call, self._client.aclose)
        self._closed = threading.Event()

    def post(self, path: str, body: bytes, *, timeout_s: float) -> Reply | Broken:
        """Send ``body`` as JSON and take the whole answer, within ``timeout_s`` seconds altogether."""
        if self._closed.is_set():
            return _CLOSED
        was_under_way = replace(_CLOSED, may_be_billed=True)
        try:
            answer = self._portal.call(partial(self._post, path, body, timeout_s))
        except CancelledError:
            return was_under_way
        except RuntimeError:  # the portal stopped since we looked
            if self._closed.is_set():
                return _CLOSED
            raise
        # Its connection may have gone before its task was cancelled.
        return was_under_way if isinstance(answer, Broken) and self._closed.is_set() else answer

    def close(self) -> None:
        """Drop connections and end the thread; calls under way end as ``CLOSED``."""
        self._closed.set()
        self._stack.close()

    async def _post(self, path: str, body: bytes, timeout_s: float) -> Reply | Broken:
        try:
            with anyio.fail_after(timeout_s):
                return await self._exchange(path, body)
        except TimeoutError:
            reason = f"no complete answer within {timeout_s:.0f} s"
            return Broken(why=Trouble.TIMEOUT, reason=reason, may_be_billed=True)
        except httpx.ReadTimeout:
            return Broken(why=Trouble.TIMEOUT, reason=f"silent for {self._read_s:g} s", may_be_billed=True)
        except httpx.TransportError as error:
            return _broken(error)

    async def _exchange(self, path: str, body: bytes) -> Reply | Broken:
        async with self._client.stream("POST", path, content=body, headers=self._headers()) as response:
            encoding = response.headers.get("content-encoding", "identity").lower()
            if encoding not in {"", "identity"}:
                if not response.is_success:  # its status says enough
                    return Reply(status=response.status_code, headers=self._said(response), body=b"")
                reason = "the server compressed an answer asked for uncompressed"
                return Broken(why=FatalKind.BAD_REQUEST, reason=reason, may_be_billed=True)
            content = bytearray()
            try:
                async for chunk in response.aiter_raw():
                    content += chunk
                    if len(content) > self._max_reply_bytes:
                        reason = f"answer beyond {self._max_reply_bytes} bytes"
                        return Broken(why=FatalKind.TOO_LARGE, reason=reason, may_be_billed=True)
            except (httpx.NetworkError, httpx.ProtocolError) as error:
                # An answer that has begun was probably written, and billed. Before that it was not: a server that is
                # down must not eat up the budget of a run that waits for it.
                return replace(_broken(error), may_be_billed=True)
            return Reply(
                status=response.status_code,
                headers=self._said(response),
                body=self._without_key(content.decode("latin-1")).encode("latin-1"),
            )

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        if self._key is not None:
            secret = self._key.get_secret_value()
            headers[self._key_header] = f"Bearer {secret}" if self._key_header == _BEARER else secret
        return headers

    def _said(self, response: httpx.Response) -> dict[str, str]:
        return {name.lower(): self._without_key(value) for name, value in response.headers.items()}

    def _without_key(self, text: str) -> str:
        return text if self._echo is None else self._echo.sub("[key]", text)


def _echo_of(key: SecretStr | None) -> re.Pattern[str] | None:
    """Finds the key as it is, and as JSON or an address may spell it: what is decoded later must not bring it back."""
    secret = key.get_secret_value() if key is not None else ""
    if len(secret) < _SHORTEST_BLANKED_KEY:
        return None
    spelled = (rf"(?:\\*{re.escape(char)}|\\+u00(?i:{ord(char):02x})|%(?i:{ord(char):02x}))" for char in secret)
    return re.compile("".join(spelled))


def _broken(error: httpx.TransportError) -> Broken:
    # Only the type's name: some of these errors quote the header that they dislike.
    return Broken(why=Trouble.CONNECTION, reason=f"connection failed ({type(error).__name__})")
