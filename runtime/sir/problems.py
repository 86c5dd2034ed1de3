"""What the compiler finds wrong: one line each, with where, what, why, and what to ask the person who wanted the strategy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from runtime.desk import printable


class Category(Enum):
    """Whose matter a problem is."""

    VALIDATION = "validation"
    """The text is no document of the schema."""
    COMPILATION = "compilation"
    """It is one, and makes no sense as a strategy of its mode."""
    DATA_LOAD = "data load"
    """The bars that it needs are not there."""
    EXECUTION = "execution"
    """It cannot be run, or failed while it ran."""


class Stage(Enum):
    """The compiler's stages, in their order."""

    READ = "read"
    UPGRADE = "upgrade"
    SCHEMA = "schema"
    CAPABILITY = "capability"
    CROSS_CHECK = "cross-check"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One reason to refuse a document, or one thing to know about it."""

    category: Category
    rule: str
    """Stable id of the rule, like ``undefined-indicator``."""
    where: str
    """JSON pointer (RFC 6901) into the document in its newest version; empty for the whole."""
    what: str
    why: str
    ask: str
    """What to ask the user, or to tell them."""

    @property
    def line(self) -> str:
        """All of it on one line."""
        return f"{self.category.value} {self.rule} at {self.where or '/'}: {self.what}: {self.why}; ask: {self.ask}"

    def as_document(self) -> dict[str, str]:
        """The problem as JSON values."""
        return {
            "category": self.category.value,
            "rule": self.rule,
            "where": self.where,
            "what": self.what,
            "why": self.why,
            "ask": self.ask,
        }


def invalid(rule: str, where: str, what: str, why: str, ask: str) -> Problem:
    """A problem of the text itself."""
    return Problem(category=Category.VALIDATION, rule=rule, where=where, what=what, why=why, ask=ask)


def senseless(rule: str, where: str, what: str, why: str, ask: str) -> Problem:
    """A problem of what the document says."""
    return Problem(category=Category.COMPILATION, rule=rule, where=where, what=what, why=why, ask=ask)


# Keys of a document may be as long as the document; a place is still told by its beginning.
_LONGEST_STEP = 60


def pointer(*steps: str | int) -> str:
    """A JSON pointer; what does not print in a key is written as an escape, and a long key is cut.

    >>> pointer("features", 0, "a/b")
    '/features/0/a~1b'
    """
    return "".join(f"/{_step(str(step))}" for step in steps)


def _step(text: str) -> str:
    if len(text) > _LONGEST_STEP:
        text = f"{text[:_LONGEST_STEP]}..."
    return printable(text).replace("~", "~0").replace("/", "~1")


def shown(value: object, most: int = 40) -> str:
    r"""A value from outside as it may stand in a message: short, printable.

    >>> print(shown("a\u202eb"), shown(1.5))
    'a\u202eb' 1.5
    """
    text = ascii(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
