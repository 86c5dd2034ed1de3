"""The hostile and the benign files as the tests see them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from runtime.source import StrategySource

TESTS = Path(__file__).parents[1]
ESCAPES = TESTS / "escapes"
BENIGN = TESTS / "benign"


class Hostile(NamedTuple):
    id: str
    kind: str
    expected: str
    """``gate1``, ``gate2``, ``gate3``, ``cage`` (ended by a limit), ``engine-validation`` or ``harmless``."""
    source: StrategySource


def hostile_files() -> list[Hostile]:
    with (ESCAPES / "INDEX.tsv").open(encoding="utf-8") as index:
        return [
            Hostile(
                row["id"], row["kind"], row["expected_verdict"], StrategySource((ESCAPES / row["file"]).read_bytes())
            )
            for row in csv.DictReader(index, delimiter="\t")
        ]


def benign_files() -> list[tuple[str, StrategySource]]:
    return [(path.stem, StrategySource(path.read_bytes())) for path in sorted(BENIGN.glob("*.py"))]


def text(body: str, *, above: str = "", inside: str = "") -> StrategySource:
    """A strategy whose ``on_bar`` is ``body``, with lines above the class and further members inside it."""
    lines = [*above.splitlines(), "class S(Strategy):"]
    lines += [f"    {line}" for line in inside.splitlines()]
    lines += ["    def on_bar(self, bar):", *(f"        {line}" for line in body.splitlines()), ""]
    return StrategySource.from_text("\n".join(lines))
