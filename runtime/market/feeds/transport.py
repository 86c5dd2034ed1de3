"""Carries requests over HTTP. The only module of ``runtime`` that imports ``httpx``, and nothing imports it but who fetches.

The event loop lives in a thread of its own because a deadline must bound the whole exchange: the timeouts of a
blocking client bound single reads only, so a server that drips one byte a second would hold the caller for ever.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from runtime.market.feeds.exchange import Broken, Fault, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.feeds.exchange import PageRequest

MAX_REPLY_BYTES = 8 * 1024 * 1024
"""A thousand bars are 150 kB of JSON; far above that something else is being sent."""
_CONNECT_S = 10.0


class HttpTransport:
    """An ``exchange.Transport`` over HTTP/1.1; also a context manager.

    The environment's proxies and ``.netrc`` files are not used: the address in the configuration is where a request
    goes. Redirects are not followed. Answers are asked for uncompressed and compressed ones are refused, so that a few
    kB cannot become gigabytes.

    Args:
        base_url: What request paths are appended to.
        headers: Sent with every request; the place for a key. Never part of a message.
        max_reply_bytes: Cap of one answer.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str] | None = None, *, max_reply_bytes: int = MAX_REPLY_BYTES
    ) -> None:
        self._max_reply_bytes = max_reply_bytes
        self._client = httpx.AsyncClient(
            base_url=base_url,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=_CONNECT_S),
            headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "trigate"}
            | dict(headers or {}),
        )
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal(name="feed-transport"))
        # Last in, first out: close the connections, then end the loop without waiting for an answer under way.
        self._stack.callback(self._portal.call, self._portal.stop, True)
        self._stack.callback(self._portal.call, self._client.aclose)

    def get(self, request: PageRequest, *, timeout_s: float) -> Reply | Broken:
        """Send a request and take the whole answer, within ``timeout_s`` seconds altogether."""
        return self._portal.call(partial(self._get, request, timeout_s))

    def close(self) -> None:
        """Drop connections and end the thread."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _get(self, request: PageRequest, timeout_s: float) -> Reply | Broken:
        try:
            with anyio.fail_after(timeout_s):
                return await self._exchange(request)
        except (TimeoutError, httpx.TimeoutException):
            return Broken(fault=Fault.TIMEOUT, reason=f"it gave no whole answer within {timeout_s:.0f} s")
        except httpx.TransportError as error:
            # Only the type's name: some of these errors quote the header that they dislike.
            return Broken(fault=Fault.CONNECTION, reason=f"the connection failed ({type(error).__name__})")

    async def _exchange(self, request: PageRequest) -> Reply | Broken:
        async with self._client.stream("GET", request.path, params=list(request.query)) as response:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                return Broken(fault=Fault.COMPRESSED, reason="it compressed an answer that was asked for uncompressed")
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > self._max_reply_bytes:
                    return Broken(
                        fault=Fault.TOO_LARGE, reason=f"its answer is larger than {self._max_reply_bytes} bytes"
                    )
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(status=response.status_code, headers=headers, body=bytes(content))
