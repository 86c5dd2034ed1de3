"""``DataError``: market data that cannot be used, in one sentence for the person who brought it."""

from __future__ import annotations

# Long enough to recognise a cell or a name, short enough for one line of a terminal.
_QUOTE_LIMIT = 40


class DataError(Exception):
    """The data, the name or the file is at fault, never the program.

    The text is one sentence that names the thing, the value, the rule and the way out; show it as it is and end with
    a usage error. Nothing that was registered before has been changed when this is raised.
    """


def quoted(text: str) -> str:
    """Foreign text for a message: quoted, control characters escaped, cut to a readable length.

    >>> quoted("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    return repr(text if len(text) <= _QUOTE_LIMIT else text[:_QUOTE_LIMIT] + "...")
