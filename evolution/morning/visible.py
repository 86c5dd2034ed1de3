"""Text that somebody else may have written, made visible and bounded, whatever medium it goes into afterwards."""

from __future__ import annotations

from evolution.escaping import escape_text

LONGEST = 480
"""Characters of one value. A sentence of ours is at most two lines; what is longer was written by somebody else."""


def cut(text: str, longest: int = LONGEST) -> str:
    r"""Text in which every character shows, in one line of at most so many.

    >>> cut("red \x1b[31m and more", 14)
    'red \\x1b[31...'
    """
    shown = escape_text(text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."
