"""The audit log as a story: one line for each thing that happened, in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def tell(lines: Iterable[str], run: str | None = None) -> list[str]:
    """The lines of one run, or of all, in words. Lines must be those of a checked log."""
    told: list[str] = []
    for line in lines:
        document = json.loads(line)
        if run is None or document["run"] == run:
            told.extend(_words(document))
    return told


def _words(document: dict[str, Any]) -> Iterator[str]:
    what, body = document["what"], document["body"]
    place = f"{document['sequence']} {document['at'][:19]}Z {document['run'] or '-'}"
    if what != "bar":
        told = body | {"last": _moment(body["last"])} if what == "end" and body.get("last") is not None else body
        facts = ", ".join(
            f"{name} {_short(value)}" for name, value in told.items() if value is not None and value != ""
        )
        yield f"{place} {what}: {facts}"
        return
    bar = f"{place} bar {body['ts'][:16]}Z"
    for fill in body["fills"]:
        yield f"{bar} filled {fill['side']} {fill['quantity']:.10g} at {fill['price']:.10g}, fee {fill['fee']:.2f}, order {fill['order']}"
    for number, reason in body["refused"]:
        yield f"{bar} the venue refused order {number}: {reason}"
    for each in body["decisions"]:
        outcome = {"pending": "passed on", "risk_rejected": f"refused by {each['rule']}"}.get(
            each["outcome"], each["outcome"]
        )
        why = f": {each['reason']}" if each["reason"] else ""
        plan = f", plan {each['plan']}" if each["plan"] else ""
        yield f"{bar} wanted [{each['intent']}] {outcome}{why}{plan}"
    for note in body["notes"]:
        if note["what"] == "hook":
            yield f"{bar} {note['detail']}"
            continue
        yield f"{bar} feed: {note['what']} bar at {_moment(note['ts'])}, {note['detail']}"
    for lock in body["locks"]:
        yield f"{bar} locked {lock['symbol'] or lock['account']} until {lock['until'][:16]}Z: {lock['reason']}"
    yield f"{bar} equity {body['equity']:.2f}, cash {body['cash']:.2f}, position {body['position']:.10g}"


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M}Z"
