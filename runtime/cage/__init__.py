"""The cage: run a named function on untrusted input, in a process that can do nothing but compute and answer."""

from runtime.cage.conversation import Conversation
from runtime.cage.faults import CageClosed, CageError, CageUnavailable, EntryFailed
from runtime.cage.host import Cage, open_cage
from runtime.cage.layers import CageMode
from runtime.cage.outcome import CageEnd, CageLimits, CageOutcome
from runtime.cage.selftest import LayerProbe, probe_layers

__all__ = [
    "Cage",
    "CageClosed",
    "CageEnd",
    "CageError",
    "CageLimits",
    "CageMode",
    "CageOutcome",
    "CageUnavailable",
    "Conversation",
    "EntryFailed",
    "LayerProbe",
    "open_cage",
    "probe_layers",
]
