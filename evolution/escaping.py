"""Text for a medium: what a model or a candidate wrote shows as it is on a terminal and in Markdown, and acts nowhere."""

from __future__ import annotations

import re


def escape_text(text: str) -> str:
    r"""Text in which every character shows: control and bidirectional characters, surrogates and the like as escapes.

    >>> escape_text("red \x1b[31m")
    'red \\x1b[31m'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


# Addresses too: some renderers make links of bare ones.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~>&<$@-]|:(?=//)|(?<=www)\.)")


def escape_markdown(text: str) -> str:
    r"""Text that Markdown shows as it is: no links, no emphasis, no tables, no HTML.

    >>> print(escape_markdown("<b>[x](y)</b>"))
    &lt;b\>\[x\]\(y\)&lt;/b\>
    """
    escaped = _MARKDOWN.sub(r"\\\1", escape_text(text))
    return escaped.replace(r"\&", "&amp;").replace(r"\<", "&lt;")


# Emphasis, code, links, images, HTML, addresses, and what begins a heading, a quotation or a list. Brackets in words and dashes in
# names act nowhere, and some pages show a table's cells as they are: there an escape would be all that is seen of it.
_ACTIVE = re.compile(r"([\\`*\[\]~&<$@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.|^[#>+|-]|(?<=^\d)[.)]|(?<=^\d\d)[.)])")


def escape_cell(text: str) -> str:
    r"""One line that Markdown shows as it is, with no more escapes than that takes.

    >>> print(escape_cell("offline/param_jitter (limit 30.00%) ![x](http://y)"))
    offline/param_jitter (limit 30.00%) !\[x\](http\://y)
    """
    escaped = _ACTIVE.sub(r"\\\1", " ".join(escape_text(text).split()))
    return escaped.replace(r"\&", "&amp;").replace(r"\<", "&lt;")
