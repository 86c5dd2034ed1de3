"""What goes wrong with the cage itself, as opposed to the candidate in it.

    CageError               the machine or our own code; a candidate cannot cause it, retrying may help
     +-- CageUnavailable    a required layer is missing or let a probe through: fix the machine or choose the reduced cage
     +-- EntryFailed        the entry module could not be imported or its ``prepare`` raised: fix the entry
     +-- CageClosed         the caller used a cage after closing it (or in a fork of the process that opened it)

How a *job* ends is never an exception: see ``runtime.cage.outcome``.
"""

from __future__ import annotations

HOW_TO_REDUCE = (
    "To run the search without it, in a reduced cage that holds back mistakes but not malice: "
    '`trigate evolve --cage reduced`, or cage = "reduced" in trigate.toml.'
)


class CageError(RuntimeError):
    """The cage could not do its work. Nothing was learnt about the candidate: do not hold it against it."""


class CageUnavailable(CageError):  # noqa: N818 - named by whose fault it is, as the tree above shows
    """A required layer does not hold here. Fix what the message names, or choose the reduced cage on purpose."""

    def __init__(self, layer: str, finding: str) -> None:
        self.layer = layer
        self.finding = finding
        super().__init__(f"The cage layer {layer!r} does not hold on this machine: {finding}. {HOW_TO_REDUCE}")


class EntryFailed(CageError):  # noqa: N818 - named by whose fault it is, as the tree above shows
    """The entry named to ``open_cage`` cannot be loaded; the message carries the error of its import or ``prepare``."""


class CageClosed(CageError):  # noqa: N818 - named by whose fault it is, as the tree above shows
    """The cage is closed, or belongs to another process. Open a new one."""
