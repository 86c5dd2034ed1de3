"""A strategy as text: the one thing that gates judge, operators breed and people promote."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum


class Language(Enum):
    """What the text is written in."""

    PYTHON = "python"
    SIR = "sir"


@dataclass(frozen=True, slots=True)
class StrategySource:
    """Strategy text with its identity.

    >>> StrategySource(b"class S(Strategy): ...").sha256[:8]
    'd7887308'
    """

    data: bytes
    """The exact bytes of the file. Bytes, not str: the first rules of gate one are about bytes."""
    language: Language = Language.PYTHON
    sha256: str = field(init=False)
    """Hex digest of ``data``; the identity that trials, pool entries and deployments are bound to."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", hashlib.sha256(self.data).hexdigest())

    @classmethod
    def from_text(cls, text: str, language: Language = Language.PYTHON) -> StrategySource:
        """Take text of our own making (operators, prompts); lone surrogates survive, for gate one to refuse."""
        return cls(text.encode("utf-8", "surrogatepass"), language)

    @property
    def text(self) -> str:
        """The text for people; bytes that are not UTF-8 show as escapes. Only gate one decides what is valid."""
        return self.data.decode("utf-8", "backslashreplace")
