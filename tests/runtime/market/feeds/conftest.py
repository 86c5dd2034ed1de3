"""A feed on loopback, and a world whose time only moves when somebody waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from runtime.market.calendar import DAY_S, HOUR_S, parse_stamp
from runtime.market.feeds import Caller, Feed, Klines, Limits, Timing
from runtime.market.feeds.paging import Want
from runtime.market.feeds.transport import HttpTransport
from runtime.model import Timeframe

LISTED = parse_stamp("2024-01-01")


@dataclass
class World:
    """Wall clock and monotonic clock in one; both begin at ``time``."""

    time: float = float(LISTED + 60 * DAY_S)
    slept: list[float] = field(default_factory=list)

    def clock(self):
        return self.time

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds

    @property
    def timing(self):
        return Timing(
            now=lambda: datetime.fromtimestamp(self.time, UTC),
            monotonic=self.clock,
            sleep=self.sleep,
            jitter=random.Random(0),
        )


@pytest.fixture
def world():
    return World()


@pytest.fixture
def serve(klines_server, world):
    """``serve(*plan, **options)``: a server that keeps the world's time."""
    servers = []

    def start(*plan, **options):
        servers.append(klines_server.KlinesServer(plan, **{"listed": LISTED, "clock": world.clock} | options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def call(world):
    """``call(server, limits)``: a caller over real HTTP."""
    transports = []

    def make(server, limits=None):
        transports.append(HttpTransport(server.base_url))
        return Caller(transports[-1], world.timing, limits or Limits(per_minute=60_000))

    yield make
    for transport in transports:
        transport.close()


@pytest.fixture
def hourly():
    """``hourly(first_hour, last_hour)``: what to want of BTCUSDT, in hours since it was listed."""

    def want(first, last, symbol="BTCUSDT"):
        return Want(
            symbol=symbol,
            timeframe=Timeframe(HOUR_S),
            start=LISTED + first * HOUR_S,
            stop=LISTED + last * HOUR_S,
        )

    return want


@pytest.fixture
def klines_feed():
    """A feed of small pages."""
    return Feed(name="house", dialect=Klines(page_bars=100))
