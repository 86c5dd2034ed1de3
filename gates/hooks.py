"""Names that the interpreter or the standard library could be listening to, and how long a name is shown."""

from __future__ import annotations


def is_hook(name: str) -> bool:
    """Whether the interpreter or a standard class could be listening to this name.

    >>> [is_hook(name) for name in ("__init__", "_missing_", "_own", "_")]
    [True, True, False, False]
    """
    if "_" not in name:
        return False
    if any(part.startswith("__") for part in name.split(".")):
        return True
    return len(name) > 2 and name.startswith("_") and name.endswith("_")


def shown(name: str) -> str:
    """A candidate's name as a message prints it: never longer than 60 characters and three dots."""
    return name if len(name) <= 60 else name[:60] + "..."
