"""Foreign text (a server's, a model's) as one short line of printable ASCII, harmless wherever it is shown next.

Only the invisible and the ambiguous are taken away here. Markup stays as it is: whoever shows the line in a terminal,
in Markdown or in HTML still escapes it for that medium.
"""

from __future__ import annotations


def one_line(text: str, limit: int) -> str:
    r"""``text`` on one line: white space collapsed, everything else outside printable ASCII as an escape, capped.

    >>> one_line("buy\n the \u202edip", 40)
    'buy the \\u202edip'
    >>> one_line("x" * 99, 10)
    'xxxxxxx...'
    """
    # Four times the limit is enough for any cut below, and keeps the work small on a very long text.
    words = " ".join(text[: 4 * limit].split())
    plain = words.encode("ascii", "backslashreplace").decode("ascii")
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in plain)
    return shown if len(shown) <= limit else shown[: max(0, limit - 3)] + "..."
