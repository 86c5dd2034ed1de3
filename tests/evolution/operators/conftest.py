"""Parents of all kinds, and a quick way to look at the anatomy of a few lines."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evolution.operators.anatomy import Anatomy, dissect
from evolution.operators.canonical import without_docstrings
from evolution.seeds import seed_sources
from gates.scan import Scanned, scan
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def seeds() -> list[StrategySource]:
    """The six seeds in order."""
    return [source for _, source in seed_sources()]


@pytest.fixture(scope="session")
def free_form() -> list[StrategySource]:
    """Strategies as models and people write them, without a thought for operators."""
    files = [*sorted((TESTS / "evolution/operators/parents").glob("*.txt")), *sorted((TESTS / "benign").glob("*.py"))]
    return [StrategySource(path.read_bytes()) for path in files]


@pytest.fixture(scope="session")
def look() -> Callable[[str], Anatomy]:
    """The anatomy of a class body that is given as indented text, or of a whole file."""

    def look_at(text: str) -> Anatomy:
        text = textwrap.dedent(text).strip() + "\n"
        if "class " not in text:
            text = "class S(Strategy):\n" + textwrap.indent(text, "    ")
        scanned = scan(StrategySource.from_text(text))
        assert isinstance(scanned, Scanned), scanned.reason
        anatomy = dissect(without_docstrings(scanned.tree), scanned.class_name)
        assert anatomy is not None
        return anatomy

    return look_at
