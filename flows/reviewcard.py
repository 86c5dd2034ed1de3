"""An entry's evidence as Markdown, for the page on which somebody decides. All text is escaped: models and candidates wrote some of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evolution.escaping import escape_markdown
from flows.output import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evolution.pool import PoolEntry


def card_markdown(entry: PoolEntry, *, looks_left: int, obstacle: str | None) -> str:
    """The card of an entry that waits for a decision.

    Args:
        entry: The entry.
        looks_left: What the error budget still pays for on its data.
        obstacle: Why a promotion would be refused as things stand; None when nothing is in its way.
    """
    return "\n".join(_lines(entry, looks_left, obstacle)) + "\n"


def _lines(entry: PoolEntry, looks_left: int, obstacle: str | None) -> Iterator[str]:
    binding = entry.binding
    yield f"# {entry.id}, a {entry.status.value}"
    yield ""
    if obstacle is not None:
        yield f"**A promotion would be refused now:** {_shown(obstacle)}"
        yield ""
    yield "A decision holds for exactly this, and for nothing else:"
    yield ""
    yield f"- source `{entry.source.sha256}`"
    yield f"- data {_shown(binding.dataset)}, `{binding.dataset_sha256[:16]}`"
    yield f"- configuration `{binding.config_hash[:16]}`, engine {_shown(binding.engine_version)}"
    yield f"- found as {entry.candidate_id} of run {entry.run_id}; seed score on train {entry.score:.3f}"
    yield f"- looks left at the vault: {looks_left}; a promotion spends one, and a failed look declines the entry for good"
    yield ""
    yield from _alarms(entry)
    yield "## Checks"
    yield ""
    for check in entry.card.checks:
        yield f"- {'passed' if check.passed else '**REFUSED**'}: {_shown(check.sentence)}"
    yield ""
    calm = [note.sentence for note in entry.card.notes if not note.is_alarming]
    if calm:
        yield "## What else is known"
        yield ""
        yield from (f"- {_shown(sentence)}" for sentence in calm)
        yield ""
    yield "## Source"
    yield ""
    yield from _fenced(entry.source.text)


def _alarms(entry: PoolEntry) -> Iterator[str]:
    alarms = [note.sentence for note in entry.card.notes if note.is_alarming]
    if entry.models:
        alarms.insert(0, f"not blind: models that have read the past are in its ancestry ({', '.join(entry.models)})")
    if not alarms:
        return
    yield "## Look here first"
    yield ""
    yield from (f"- {_shown(alarm)}" for alarm in alarms)
    yield ""


def _fenced(text: str) -> Iterator[str]:
    """A code block that its own content cannot end."""
    lines = [plain(line) for line in text.splitlines()]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence
    yield from lines
    yield fence


def _shown(text: str) -> str:
    return escape_markdown(plain(text))
