"""Requests keep to a rate, failures are spread, and a server that asks to wait is heard."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.market.feeds.timing import TokenBucket, asked_wait_s, backoff_s, header_date

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)


def test_a_burst_is_free_and_then_the_rate_holds(world):
    bucket = TokenBucket(per_minute=60, burst=3, monotonic=world.clock)
    assert [bucket.take() for _ in range(5)] == [0, 0, 0, pytest.approx(1), pytest.approx(2)]


def test_an_idle_bucket_saves_no_more_than_its_burst(world):
    bucket = TokenBucket(per_minute=60, burst=2, monotonic=world.clock)
    world.time += 1_000
    assert [bucket.take() for _ in range(3)] == [0, 0, pytest.approx(1)]


@given(st.lists(st.floats(0, 30), min_size=2, max_size=60), st.floats(1, 600), st.integers(1, 10))
def test_no_stretch_of_time_ever_has_more_requests_than_rate_and_burst_allow(pauses, per_minute, burst):
    now = 0.0
    bucket = TokenBucket(per_minute=per_minute, burst=burst, monotonic=lambda: now)
    sent = []
    for pause in pauses:
        now += pause
        now += bucket.take()
        sent.append(now)
    for first, start in enumerate(sent):
        for last in range(first, len(sent)):
            allowed = burst + (sent[last] - start) * per_minute / 60
            assert last - first + 1 <= allowed + 1e-6


def test_the_wait_after_failures_grows_to_a_limit_and_is_spread():
    dice = random.Random(1)
    for attempt, ceiling in ((1, 0.5), (2, 1.0), (4, 4.0), (12, 30.0), (500, 30.0)):
        waits = [backoff_s(attempt, dice) for _ in range(300)]
        assert 0 <= min(waits) < ceiling / 5
        assert ceiling * 4 / 5 < max(waits) <= ceiling


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 120 "}, 120),
        ({"retry-after": "Fri, 01 Mar 2024 12:01:00 GMT"}, 60),
        ({"retry-after": "Fri, 01 Mar 2024 13:01:00 GMT", "date": "Fri, 01 Mar 2024 13:00:00 GMT"}, 60),
        ({"retry-after": "Fri, 01 Mar 2024 11:00:00 GMT"}, 0),
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "\u0663"}, None),
    ],
)
def test_retry_after_is_read_in_both_forms_and_nonsense_is_not(headers, seconds):
    assert asked_wait_s(headers, NOW) == seconds


def test_a_date_without_a_zone_is_utc():
    assert header_date("Fri, 01 Mar 2024 12:00:00") == NOW
    assert header_date("yesterday") is None
    assert header_date(None) is None
