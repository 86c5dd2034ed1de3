"""The audit log as a story: one line for each thing that happened, in words.

Nothing of weight is left out, but what only a machine can check (keys, signatures, chains) is: ``trigate paper audit`` has checked it,
and ``--export`` writes it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_OUTCOMES = {"pending": "passed on", "done": "passed on"}
_ACTION = re.compile(r"^\d+ (\w+)(?: quantity=(-?[\d.]+(?:e[+-]?\d+)?)(?= |$))?")
_PRICE = re.compile(r" (limit|stop|offset|stop_loss|take_profit|trail)=(?=-?\d)")


def tell(lines: Iterable[str], run: str | None = None) -> list[str]:
    """The lines of one run, or of all, in words. Lines must be those of a checked log."""
    told: list[str] = []
    for line in lines:
        document = json.loads(line)
        if run is None or document["run"] == run:
            told.extend(_words(document))
    return told


def request_words(text: str) -> str:
    """What was asked for, as a person reads it; what is no plain number stays as it was written.

    >>> request_words("1 target quantity=1.0 stop_loss=0.1")
    'target 1, stop loss 0.1'
    >>> request_words("0 buy quantity=10.0 limit=21.5")
    'buy 10, limit 21.5'
    >>> request_words("2 close")
    'close'
    """
    head = _ACTION.match(text)
    if head is None:
        return text
    action, quantity = head[1], head[2]
    # A tag is the strategy's own text, and stays what it is.
    prices, tag, words = text[head.end() :].partition(" tag=")
    prices = _PRICE.sub(lambda found: f", {found[1].replace('_', ' ')} ", prices)
    return f"{action}{'' if quantity is None else f' {float(quantity):.10g}'}{prices}{', tag ' if tag else ''}{words}"


def _words(document: dict[str, Any]) -> Iterator[str]:
    what, body = document["what"], document["body"]
    place = f"{document['sequence']} {document['at'][:19]}Z {document['run'] or '-'}"
    if what == "bar":
        yield from _bar(f"{place} bar {body['ts'][:16]}Z", body)
        return
    sentence = _SENTENCES.get(what)
    try:
        yield f"{place} {what}: {_facts(body) if sentence is None else sentence(body)}"
    except (KeyError, TypeError, ValueError):  # a line of another version still has its facts
        yield f"{place} {what}: {_facts(body)}"


def _bar(bar: str, body: Mapping[str, Any]) -> Iterator[str]:
    for fill in body["fills"]:
        yield f"{bar} filled {fill['side']} {fill['quantity']:.10g} at {fill['price']:.10g}, fee {fill['fee']:.2f}, order {fill['order']}"
    for number, reason in body["refused"]:
        yield f"{bar} the venue refused order {number}: {reason}"
    for each in body["decisions"]:
        refused = f"refused by {each['rule']}" if each["outcome"] == "risk_rejected" else each["outcome"]
        outcome = _OUTCOMES.get(each["outcome"], refused)
        order = f" as order {each['order']}" if outcome == "passed on" and each.get("order") is not None else ""
        why = f": {each['reason']}" if each["reason"] else ""
        plan = f", plan {each['plan']}" if each["plan"] else ""
        yield f"{bar} wanted [{request_words(each['intent'])}] {outcome}{order}{why}{plan}"
    for note in body["notes"]:
        yield f"{bar} {note['detail']}" if note["what"] == "hook" else f"{bar} feed: {_note(note)}"
    for lock in body["locks"]:
        yield f"{bar} locked {lock['symbol'] or lock['account']} until {lock['until'][:16]}Z: {lock['reason']}"
    yield f"{bar} equity {body['equity']:.2f}, cash {body['cash']:.2f}, position {body['position']:.10g}"


def _note(note: Mapping[str, Any]) -> str:
    return f"{note['what']} bar at {_moment(note['ts'])}, {note['detail']}"


# One sentence for each thing but a bar -------------------------------------------------------------------------------------


def _started(body: Mapping[str, Any]) -> str:
    feed = json.loads(body["feed"])
    if feed["kind"] == "live":
        bars = f"live bars of feed {feed['feed']}"
    else:
        begin = "" if feed["from"] is None else f" from {_moment(feed['from'])}"
        bars = f"bars of {feed['data']}{begin}, replayed"
    if body["guards"] is None:
        guards = f"no risk guard, {body['unguarded_by']} answers for it"
    else:
        limits = json.loads(body["guards"])
        guards = "guards " + ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in limits.items())
    return f"by {body['by']}, {body['symbol']} for account {body['account']}, deployment {body['deployment']}; {bars}; {guards}"


def _planned(body: Mapping[str, Any]) -> str:
    maker = f"a model that {body['maker']} ran" if body["kind"] == "model" else body["maker"]
    waits = (
        "allowed beforehand"
        if body["verdict"] == "allow"
        else f"somebody else has to answer by {body['expires'][:16]}Z"
    )
    return f"by {maker}, [{request_words(body['request'])}], reason {body['reason']}; {waits}; plan {body['plan']}"


def _ended(body: Mapping[str, Any]) -> str:
    last = f", the last one {_moment(body['last'])}" if body.get("last") is not None else ""
    bars = f"; {body['bars']} bars{last}" if body.get("bars") else ""
    return f"{body['status']}, {body['reason']}{bars}"


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "deploy": lambda body: f"by {body['by']}, entry {body['entry']} as {body['deployment']}",
    "revoke": lambda body: f"by {body['by']}, {body['deployment']}, reason {body['reason']}",
    "start": _started,
    "warm-up": lambda body: f"on {body['bars']} bars before the first one that may be traded",
    "plan": _planned,
    "answer": lambda body: f"by {body['by']}, {body['status']}; plan {body['plan']}",
    "stop": lambda body: f"by {body['by']}{', at once, since nobody ran it' if body['over'] else ', at its next look'}",
    "reopen": lambda body: f"by {body['by']}, who lets it go on",
    "resume": lambda body: (
        f"by {body['by']}, the same again up to bar {body['bars']}: {body['fills']} fills, equity {body['equity']:.2f}"
    ),
    "end": _ended,
    "clock": lambda body: f"it jumped by {body['jumped_s']:.0f} s",
    "feed": lambda body: "; ".join(map(_note, body["notes"])),
    "hook": lambda body: f"[{request_words(body['request'])}] {body['complaint']}",
}


def _facts(body: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in body.items() if value is not None and value != "")


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M}Z"
