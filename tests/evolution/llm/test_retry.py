"""Waiting: what the server asks for, in each of its spellings, and otherwise a random wait under a rising ceiling."""

import random
from datetime import UTC, datetime

import pytest

from evolution.llm.retry import BASE_S, CAP_S, asked_wait_s, backoff_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "Mon, 30 Nov 2026 12:00:20 GMT"}, 10.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "noon"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Mon, 01 Jan 2029 00:00:00 +9999999999999"}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999999 00:00:00 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT", "date": "Mon, 01 Jan 2029 00:00:00 +9999999999999"}, 30.0),
        ({"retry-after": "1" * 6_000}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_the_asked_wait_is_read_in_every_spelling(headers, wait_s):
    assert asked_wait_s(headers, NOW) == wait_s


def test_the_random_wait_stays_under_a_ceiling_that_doubles_up_to_the_cap():
    jitter = random.Random(3)
    for attempt in range(1, 12):
        ceiling = min(CAP_S, BASE_S * 2 ** (attempt - 1))
        waits = [backoff_s(attempt, jitter) for _ in range(200)]
        assert all(0 <= wait <= ceiling for wait in waits)
        # Full jitter reaches down to nothing and up to the ceiling.
        assert min(waits) < 0.1 * ceiling
        assert max(waits) > 0.9 * ceiling
