"""What each kind of answer leads to: another attempt, a wait, or an end that says why."""

from __future__ import annotations

import json
import re

import pytest

from runtime.market.feeds import Broken, Caller, Fault, Limits, PageRequest, Reply, Stop, Stopped
from runtime.market.feeds.exchange import UnreadableError, read_json

REQUEST = PageRequest("/x", ())
LOST = Broken(fault=Fault.CONNECTION, reason="the connection failed (ReadError)")


def reply(status=200, body=b"[]", **headers):
    return Reply(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=body)


class Scripted:
    """A transport that answers from a list, then with the last entry for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.timeouts = []

    def get(self, request, *, timeout_s):
        assert request is REQUEST
        self.timeouts.append(timeout_s)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def run(world, *answers, limits=None):
    transport = Scripted(*answers)
    caller = Caller(transport, world.timing, limits or Limits(per_minute=60_000))
    return caller.call(REQUEST, lambda each: read_json(each.body)), caller


def test_a_good_answer_is_read_at_once(world):
    result, caller = run(world, reply(body=b"[1]"))
    assert (result, caller.requests, world.slept) == ([1], 1, [])


@pytest.mark.parametrize(
    "failure",
    [
        LOST,
        Broken(fault=Fault.TIMEOUT, reason="slow"),
        reply(500),
        reply(502, b"<html>"),
        reply(408),
        reply(body=b"[1, 2"),
        reply(body=b"<html>"),
        reply(body=b""),
        reply(body=b"\xff\xfe"),
        reply(429),
    ],
)
def test_failures_that_may_pass_are_tried_again(world, failure):
    result, caller = run(world, failure, failure, reply(body=b"[1]"))
    assert (result, caller.requests) == ([1], 3)
    assert len(world.slept) == 2


@pytest.mark.parametrize(
    ("answer", "wait"),
    [(reply(429, retry_after="7"), 7), (reply(418, retry_after="70"), 70), (reply(503, retry_after="3"), 3)],
)
def test_a_server_that_asks_to_wait_is_obeyed(world, answer, wait):
    result, caller = run(world, answer, reply(body=b"[1]"))
    assert (result, caller.requests, world.slept) == ([1], 2, [wait])


@pytest.mark.parametrize(
    ("answer", "stop", "words"),
    [
        (LOST, Stop.UNREACHABLE, r"the connection failed \(ReadError\) \(after 6 attempts\)"),
        (
            reply(500, b'{"msg": "An unknown error."}'),
            Stop.UNREACHABLE,
            r"answered 500 \('An unknown error.'\) \(after 6",
        ),
        (reply(429), Stop.LIMITED, r"answered 429 \(after 6 attempts\)"),
        (reply(body=b"<html>"), Stop.UNREADABLE, r"a web page instead of JSON \(after 6 attempts\)"),
        (reply(body=b"[1"), Stop.UNREADABLE, r"of 2 bytes is not whole JSON"),
        (reply(body=b"[" * 100_000), Stop.UNREADABLE, r"not whole JSON \(RecursionError\)"),
    ],
)
def test_attempts_are_counted(world, answer, stop, words):
    result, caller = run(world, answer)
    assert isinstance(result, Stopped)
    assert (result.stop, caller.requests) == (stop, 6)
    assert re.search(words, result.reason), result.reason


@pytest.mark.parametrize(
    ("answer", "stop", "words"),
    [
        (reply(418), Stop.LIMITED, "banned for a while"),
        (
            reply(400, b'{"code": -1121, "msg": "Invalid symbol."}'),
            Stop.REJECTED,
            "it answered 400 ('Invalid symbol.')",
        ),
        (reply(404, b"<html>"), Stop.REJECTED, "it answered 404"),
        (reply(401, b'{"error": "bad \\u001b[31mkey"}'), Stop.REFUSED, r"it answered 401 ('bad \x1b[31mkey')"),
        (reply(403, b"<html>"), Stop.REFUSED, "it answered 403"),
        (reply(451), Stop.REFUSED, "it answered 451"),
        (
            reply(302, location="https://else.example/x"),
            Stop.REFUSED,
            "a redirect to 'else.example', which is not followed",
        ),
        (reply(204), Stop.REFUSED, "it answered 204"),
        (Broken(fault=Fault.TOO_LARGE, reason="too large"), Stop.UNREADABLE, "too large"),
        (Broken(fault=Fault.COMPRESSED, reason="compressed"), Stop.UNREADABLE, "compressed"),
    ],
)
def test_what_cannot_pass_ends_at_once(world, answer, stop, words):
    result, caller = run(world, answer)
    assert isinstance(result, Stopped)
    assert (result.stop, caller.requests, world.slept) == (stop, 1, [])
    assert words in result.reason


def test_a_servers_own_words_are_cut(world):
    result, _ = run(world, reply(400, json.dumps({"message": "x" * 10_000}).encode()))
    assert len(result.reason) < 250


def test_nothing_waits_past_the_deadline(world):
    limits = Limits(per_minute=60_000, deadline_s=100)
    result, caller = run(world, reply(429, retry_after="3600"), limits=limits)
    assert (result.stop, caller.requests, world.slept) == (Stop.LIMITED, 1, [])
    assert (
        result.reason == "it answered 429 and asks to wait 3600 s, which passes the limit of 100 s for the whole fetch"
    )


def test_the_deadline_ends_a_fetch_that_always_succeeds(world):
    """One request a second: pace alone takes it there."""
    caller = Caller(Scripted(reply()), world.timing, Limits(per_minute=60, burst=1, deadline_s=10))
    results = [caller.call(REQUEST, lambda _: "page") for _ in range(12)]
    assert results[:10] == ["page"] * 10
    assert {each.stop for each in results[10:]} == {Stop.DEADLINE}
    assert results[-1].reason == "the limit of 10 s for the whole fetch is reached"


def test_one_answer_may_not_take_longer_than_is_left(world):
    transport = Scripted(reply())
    caller = Caller(transport, world.timing, Limits(per_minute=60, burst=1, deadline_s=40, call_s=30))
    for _ in range(20):
        caller.call(REQUEST, lambda _: None)
    assert transport.timeouts[0] == 30
    assert transport.timeouts[-1] == pytest.approx(21)


def test_errors_of_the_reader_go_through(world):
    caller = Caller(Scripted(reply()), world.timing, Limits())
    with pytest.raises(ZeroDivisionError):
        caller.call(REQUEST, lambda _: 1 / 0)


def test_a_document_is_read_and_anything_else_is_unreadable():
    assert read_json(b'{"a": [1]}') == {"a": [1]}
    for body in (b"", b"{", b"[1] x", b"\xff", b" <html>"):
        with pytest.raises(UnreadableError):
            read_json(body)
