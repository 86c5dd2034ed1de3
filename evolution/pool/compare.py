"""Two entries side by side, and one entry as a document that stands on its own. Neither holds a figure of the vault."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from evolution.pool.documents import entry_document
from evolution.pool.entry import Binding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evolution.pool.card import AdmissionCard
    from evolution.pool.entry import Decision, PoolEntry

EXPORT_FORMAT = "trigate-entry/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing in which two entries differ; None where one of them has no such thing."""

    name: str
    first: str | float | None
    second: str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a second entry differs from a first one."""

    first: str
    second: str
    differences: tuple[Difference, ...]
    source: tuple[str, ...]
    """Unified diff of the sources; empty when they are the same."""

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


def comparison(first: PoolEntry, second: PoolEntry) -> Comparison:
    """What a person who has to choose between two entries wants to see."""
    lines = difflib.unified_diff(
        first.source.text.splitlines(), second.source.text.splitlines(), first.id, second.id, lineterm=""
    )
    return Comparison(
        first=first.id,
        second=second.id,
        differences=tuple(each for each in _pairs(first, second) if each.first != each.second),
        source=tuple(lines),
    )


def _pairs(first: PoolEntry, second: PoolEntry) -> Iterator[Difference]:
    yield Difference(name="status", first=first.status.value, second=second.status.value)
    yield Difference(name="score", first=first.score, second=second.score)
    for field in fields(Binding):
        yield Difference(
            name=field.name.replace("_", " "),
            first=str(getattr(first.binding, field.name))[:16],
            second=str(getattr(second.binding, field.name))[:16],
        )
    yield Difference(name="models", first=", ".join(first.models) or None, second=", ".join(second.models) or None)
    ours, theirs = _figures(first.card), _figures(second.card)
    for name in dict.fromkeys((*ours, *theirs)):
        yield Difference(name=name, first=ours.get(name), second=theirs.get(name))


def _figures(card: AdmissionCard) -> dict[str, float | None]:
    checks = {check.name: check.figure for check in card.checks}
    return checks | {note.name: note.figure for note in card.notes}


def exported(
    entry: PoolEntry,
    decisions: Sequence[Decision],
    people: Mapping[str, str],
    codes: Sequence[Mapping[str, str | int | None]],
) -> bytes:
    """An entry with its source, evidence and decisions as JSON, with what their signatures are checked with.

    Args:
        entry: The entry.
        decisions: Its lines of the log.
        people: Public key by name, of everybody who has one.
        codes: What was signed when codes were given out for it.
    """
    document = {
        "format": EXPORT_FORMAT,
        **entry_document(entry, decisions),
        "source": entry.source.text,
        "people": dict(people),
        "codes": list(codes),
    }
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()
