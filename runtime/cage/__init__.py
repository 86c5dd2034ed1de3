"""The cage: run a named function on untrusted input, in a process that can do nothing but compute and answer.

``open_cage`` starts a zygote, a clean interpreter that imports the named module and calls its ``prepare``. Each
``Cage.run`` lets the zygote fork one child, which locks itself down (Landlock, seccomp, limits, no descriptor but the
result's), calls the function once and ends. How it ended is a ``CageOutcome``, whatever the candidate did; exceptions
(``CageError``) are about the machine. ``Cage.converse`` is the same for a child that is asked one thing at a time.
``probe_layers`` tries every layer live.

What the cage does not do: it cannot tell a true result from a forged one (the payload is a claim), it does not hide
what ``prepare`` left in memory, it does not stop a candidate from measuring time, and it is no defence against a hole
in the Linux kernel's few calls that computing needs.

Inside: ``host`` (the public face), ``job``, ``verdict`` and ``launch`` run in the caller's process; ``zygote``,
``ground`` in the zygote; ``child``, ``lockdown``, ``landlock``, ``seccomp``, ``line`` in the child; ``wire`` is what
passes between them; ``selftest`` and ``probes`` try it all.
"""

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
