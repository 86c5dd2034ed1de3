"""A feed of bars on loopback: speaks klines and a generic JSON list, and fails on demand.

``GET /api/v3/klines`` answers like the protocol that Binance made common: arrays of twelve fields, prices as text,
stamps in milliseconds, the forming bar included. ``GET /v1/bars/SYMBOL`` answers ``{"data": {"bars": [...]}, "next": ...}``
and pages by time, number or token, in either order.

The bars are a function of symbol and stamp alone, so every range can be asked for and every page agrees with the
others. Faults are chosen by a plan: one mode for each request, then ``plain``. Run it by hand with
``python tests/klines_server.py --port 8098 --plan 429,reset``.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import random
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PLAIN = "plain"
RETRY_AFTER_S = 7
SYMBOLS = ("BTCUSDT", "ETHUSDT")
_STEPS = {"1m": 60, "5m": 300, "15m": 900, "30m": 1_800, "1h": 3_600, "4h": 14_400, "1d": 86_400, "1w": 604_800}
# Weeks begin on Mondays; 1970-01-05 was the first.
_FIRST_MONDAY = 4 * 86_400
_PAGE = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"
_MAX_LIMIT = 1_000
MODES = (
    PLAIN, "429", "429-date", "429-none", "418", "418-none", "500", "503", "403", "451", "redirect", "reset", "cut", "cut-json", "html",
    "empty", "object", "compressed", "flood", "drip", "hold", "gap", "disorder", "doubled", "nan", "infinity", "negative", "high-low",
    "changed", "vanished", "other-step", "short-row", "deep", "early", "jump", "other-prices", "shifted", "date-back", "date-ahead",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    mode: str


@dataclass(slots=True)
class Answer:
    """What goes out."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sends: Callable[[BaseHTTPRequestHandler, Answer], None] | None = None
    """How it goes out, where plainly is not the point."""


# --- The market -----------------------------------------------------------------------------------------------------


def bar(symbol: str, opened: int, step: int) -> list[Any]:
    """Open, high, low, close and volume of one bar, as text with eight decimals."""
    before, after = _price(symbol, opened), _price(symbol, opened + step - 1)
    wick = random.Random(f"{symbol} {opened} {step}")
    high = max(before, after) * (1 + wick.random() / 200)
    low = min(before, after) * (1 - wick.random() / 200)
    return [f"{value:.8f}" for value in (before, high, low, after, wick.random() * 1_000)]


def _price(symbol: str, moment: int) -> float:
    """A price that depends on nothing but the symbol and the moment."""
    digest = hashlib.sha256(f"{symbol} {moment}".encode()).digest()
    return 100.0 * (1 + int.from_bytes(digest[:4], "big") / 2**32 / 10)


@dataclass(frozen=True, slots=True)
class Market:
    """What the feed has."""

    listed: int
    """Open of the first bar, seconds since 1970 UTC."""
    clock: Callable[[], float]
    """The server's own time."""
    holes: frozenset[int] = frozenset()
    """Opens without a bar."""

    def stamps(self, step: int, start: int, stop: int) -> list[int]:
        """Opens in ``[start, stop)``, the forming bar's included."""
        origin = _FIRST_MONDAY % step
        begin = max(start, self.listed)
        first = origin - (origin - begin) // step * step
        return [each for each in range(first, min(stop, int(self.clock()) + 1), step) if each not in self.holes]


# --- Answering ------------------------------------------------------------------------------------------------------


def _json(status: int, document: Any, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=json.dumps(document).encode(), headers=named)


def _error(status: int, code: int, message: str, **headers: str) -> Answer:
    return _json(status, {"code": code, "msg": message}, **headers)


def _klines(market: Market, query: dict[str, str], mode: str) -> Answer:
    if query.get("symbol") not in SYMBOLS:
        return _error(400, -1121, "Invalid symbol.")
    if query.get("interval") not in _STEPS:
        return _error(400, -1120, "Invalid interval.")
    step = _STEPS[query["interval"]]
    start = -(-int(query.get("startTime", 0)) // 1_000)
    stop = int(query.get("endTime", 10**15)) // 1_000 + 1
    limit = min(int(query.get("limit", 500)), _MAX_LIMIT)
    stamps = market.stamps(step, start, stop)[:limit]
    rows = [_kline(query["symbol"], each, step) for each in stamps]
    return _json(200, _spoilt(rows, mode, step))


def _kline(symbol: str, opened: int, step: int) -> list[Any]:
    values = bar(symbol, opened, step)
    return [opened * 1_000, *values, (opened + step) * 1_000 - 1, "0.00000000", 7, "0.00000000", "0.00000000", "0"]


def _spoilt(rows: list[list[Any]], mode: str, step: int) -> Any:
    """Rows of a klines reply with one thing wrong in the middle, or at the beginning where edges are the point."""
    middle = len(rows) // 2
    match mode:
        case "gap":
            del rows[middle : middle + 3]
        case "disorder":
            rows[middle], rows[middle - 1] = rows[middle - 1], rows[middle]
        case "doubled":
            rows.insert(middle, rows[middle])
        case "nan" | "infinity":
            rows[middle][4] = {"nan": "NaN", "infinity": float("inf")}[mode]
        case "negative":
            rows[middle][5] = "-1.0"
        case "high-low":
            rows[middle][2], rows[middle][3] = rows[middle][3], rows[middle][2]
        case "changed":
            rows[0][4] = rows[0][1]
        case "vanished":
            del rows[1]
        case "early":
            last = rows[-1]
            rows += [
                [last[0] + ahead * step * 1_000, *last[1:6], last[6] + ahead * step * 1_000, *last[7:]]
                for ahead in (1, 2, 3)
            ]
        case "jump":
            rows[-2:] = [_times(row, 10.0) for row in rows[-2:]]
        case "other-prices":
            return [_times(row, 1.5) for row in rows]
        case "shifted":
            return [[row[0] + 7_000, *row[1:6], row[6] + 7_000, *row[7:]] for row in rows]
        case "other-step":
            rows[middle][6] += step * 1_000
        case "short-row":
            rows[middle] = rows[middle][:6]
        case "empty":
            return []
        case "object":
            return {"code": 0, "data": rows}
    return rows


def _times(row: list[Any], factor: float) -> list[Any]:
    return [row[0], *(f"{float(price) * factor:.8f}" for price in row[1:5]), *row[5:]]


def _bars(market: Market, symbol: str, query: dict[str, str]) -> Answer:
    """The generic endpoint. ``order=desc`` answers with the newest bars of the range, newest first."""
    step = int(query["step"])
    stamps = market.stamps(step, int(query.get("from", 0)), int(query.get("to", 10**12)))
    limit, token = int(query.get("limit", 100)), None
    if "page" in query or "token" in query or query.get("tokens") == "yes":
        skip = (int(query["page"]) - 1) * limit if "page" in query else int(query.get("token", "t0")[1:])
        token = f"t{skip + limit}" if "page" not in query and skip + limit < len(stamps) else None
        stamps = stamps[skip : skip + limit]
    elif query.get("order") == "desc":
        stamps = stamps[-limit:][::-1]
    else:
        stamps = stamps[:limit]
    rows = [{"t": each} | dict(zip("ohlcv", map(float, bar(symbol, each, step)), strict=True)) for each in stamps]
    return _json(200, {"data": {"bars": rows}, "next": token})


_PLAIN_FAULTS: dict[str, Callable[[], Answer]] = {
    "429": lambda: _error(429, -1003, "Too many requests.", retry_after=str(RETRY_AFTER_S)),
    "429-date": lambda: _error(429, -1003, "Too many requests.", date=formatdate(10**9, usegmt=True), retry_after=formatdate(10**9 + RETRY_AFTER_S, usegmt=True)),
    "429-none": lambda: _error(429, -1003, "Too many requests."),
    "418": lambda: _error(418, -1003, "Banned.", retry_after=str(10 * RETRY_AFTER_S)),
    "418-none": lambda: _error(418, -1003, "Banned."),
    "500": lambda: _error(500, -1000, "An unknown error occurred."),
    "503": lambda: Answer(status=503, body=_PAGE, headers={"content-type": "text/html", "retry-after": str(RETRY_AFTER_S)}),
    "403": lambda: Answer(status=403, body=_PAGE, headers={"content-type": "text/html"}),
    "451": lambda: _error(451, 0, "Service unavailable from a restricted location."),
    "redirect": lambda: Answer(status=302, headers={"location": "https://elsewhere.example/api/v3/klines"}),
    "html": lambda: Answer(body=_PAGE, headers={"content-type": "text/html"}),
    "deep": lambda: Answer(body=b"[" * 100_000),
    "flood": lambda: Answer(sends=_flood),
}  # fmt: skip


def _altered(mode: str, answer: Answer) -> Answer:
    """A good answer that goes out badly."""
    match mode:
        case "reset":
            answer.sends = _reset
        case "cut":
            answer.sends = _cut
        case "cut-json":
            answer.body = answer.body[:-40]
        case "compressed":
            answer.body, answer.headers["content-encoding"] = gzip.compress(answer.body), "gzip"
        case "drip":
            answer.sends = _drip
        case "hold":
            answer.sends = _hold
    return answer


def _reset(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    _head(handler, answer, len(answer.body))
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.wfile.flush()
    # Linger with a time of zero turns close into a reset.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _cut(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    _head(handler, answer, len(answer.body))
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.close_connection = True


def _drip(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    _head(handler, answer, len(answer.body))
    for byte in answer.body:
        handler.wfile.write(bytes([byte]))
        if handler.server.closing.wait(0.02):
            break
    handler.close_connection = True


def _flood(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    for _ in range(4_096):
        handler.wfile.write(b"[" * 16_384)
    handler.close_connection = True


def _hold(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Say that a request has come, and answer nothing until somebody lets go."""
    handler.server.feed.held.set()
    handler.server.closing.wait(60)
    handler.close_connection = True


def _head(handler: BaseHTTPRequestHandler, answer: Answer, length: int) -> None:
    handler.send_response_only(answer.status)
    date = formatdate(handler.server.feed.market.clock(), usegmt=True)
    headers = {
        "content-type": "application/json;charset=UTF-8",
        "date": date,
        "x-mbx-used-weight-1m": "2",
        **answer.headers,
    }
    for name, value in {**headers, "content-length": str(length)}.items():
        handler.send_header(name, value)
    handler.end_headers()


# --- Serving --------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answer = self.server.feed.answer(self.path, {name.lower(): value for name, value in self.headers.items()})
        # A client that gave up is what several of the modes are for.
        with contextlib.suppress(ConnectionError):
            if answer.sends is not None:
                answer.sends(self, answer)
                return
            _head(self, answer, len(answer.body))
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Say nothing: ``seen`` has it all."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep the test's output clean: a broken connection is not an error of the server's."""


class KlinesServer:
    """The feed, running in threads of this process from construction to ``close``; also a context manager.

    Args:
        plan: Modes for the first requests, in order of arrival; after that every request is answered plainly.
        listed: Open of the first bar.
        clock: The server's own time.
        holes: Opens without a bar.
        key: The only value of ``authorization`` that is let in; None lets everybody in.
        port: 0 takes any free one.
    """

    def __init__(
        self,
        plan: Iterable[str] = (),
        *,
        listed: int = 1_600_000_000 // 86_400 * 86_400,
        clock: Callable[[], float] = time.time,
        holes: Iterable[int] = (),
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self.plan = deque(plan)
        unknown = set(self.plan) - set(MODES)
        if unknown:
            raise ValueError(f"unknown modes {sorted(unknown)}; there are {', '.join(MODES)}")
        self.market = Market(listed, clock, frozenset(holes))
        self.seen: list[Seen] = []
        self.held = threading.Event()
        self._key = key
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.feed = self
        self._server.closing = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """What goes into a feed's section."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, target: str, headers: dict[str, str]) -> Answer:
        """Decide on one request, and remember it."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        with self._lock:
            mode = self.plan.popleft() if self.plan else PLAIN
            self.seen.append(Seen(parts.path, query, headers, mode))
        moved = {"date-back": -7_200, "date-ahead": 7_200}.get(mode)
        if moved is not None:
            answer = _klines(self.market, query, PLAIN)
            answer.headers["date"] = formatdate(self.market.clock() + moved, usegmt=True)
            return answer
        if self._key is not None and headers.get("authorization") != self._key:
            return _error(401, -2015, "Invalid API-key.")
        if mode in _PLAIN_FAULTS:
            return _PLAIN_FAULTS[mode]()
        if parts.path == "/api/v3/klines":
            return _altered(mode, _klines(self.market, query, mode))
        if parts.path.startswith("/v1/bars/"):
            return _altered(mode, _bars(self.market, parts.path.removeprefix("/v1/bars/"), query))
        return _error(404, 0, "no such path")

    def close(self) -> None:
        """Stop, and let go of everybody who still waits."""
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A feed of bars on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--plan", default="", help=f"modes for the first requests, by comma: {', '.join(MODES)}")
    options = parser.parse_args()
    with KlinesServer([mode for mode in options.plan.split(",") if mode], port=options.port) as server:
        print(server.base_url, flush=True)  # noqa: T201 - whoever starts it by hand needs the address
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
