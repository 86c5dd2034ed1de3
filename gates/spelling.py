"""What a name was meant to be: a guess by spelling, cheap enough for hostile names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Comparing two texts takes time by the product of their lengths, and a source chooses both.
_LONGEST: Final = 40
_MOST_KNOWN: Final = 500
_MOST_GUESSES: Final = 5


class Spelling:
    """Guesses a few times per source, then no more.

    Args:
        known: the names that exist.
        cutoff: how alike two names must be, from 0 to 1.
    """

    def __init__(self, known: Iterable[str], *, cutoff: float) -> None:
        self._known = sorted(name for name in known if len(name) <= _LONGEST)[:_MOST_KNOWN]
        self._cutoff = cutoff
        self._left = _MOST_GUESSES

    def nearest(self, name: str) -> str | None:
        """The known name that is most like this one; None when there is none, or after too many guesses.

        >>> Spelling(("indicator", "history"), cutoff=0.7).nearest("indicater")
        'indicator'
        """
        if not self._left or len(name) > _LONGEST:
            return None
        self._left -= 1
        return next(iter(difflib.get_close_matches(name, self._known, n=1, cutoff=self._cutoff)), None)
