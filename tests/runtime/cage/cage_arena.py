"""What the tests of the cage share: an entry, limits, and a cage with the few things every test does with it."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from runtime.cage import Cage, CageEnd, CageLimits, CageMode, CageOutcome
from runtime.cage.launch import ZygoteSpec
from runtime.cage.layers import mask_of

if TYPE_CHECKING:
    from runtime.cage.layers import Layer

ENTRY = "cage_entries:run"
QUICK = CageLimits(cpu_s=1, wall_s=20, memory_mib=64, result_bytes=1 << 20)


def open_descriptors() -> set[str]:
    """Every descriptor of this process, as the kernel lists them (the one it lists them with included)."""
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def memory_of(pid: int) -> bytes:
    """All that a process holds and may read. For root, who may look into any."""
    content = bytearray()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            area, rights, *_ = line.split()
            if rights.startswith("r") and not line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                start, end = (int(bound, 16) for bound in area.split("-"))
                memory.seek(start)
                content += memory.read(end - start)
    return bytes(content)


class Arena:
    """A cage, and the two things every test here does with one."""

    def __init__(self, cage: Cage) -> None:
        self.cage = cage

    def run(self, program: str, limits: CageLimits = QUICK) -> CageOutcome:
        return self.cage.run(dedent(program).encode(), limits)

    def run_without(self, program: str, *layers: Layer, limits: CageLimits = QUICK) -> CageOutcome:
        return self.cage._run(dedent(program).encode(), limits, skip=mask_of(layers))

    def assert_unharmed(self) -> None:
        """What must hold after whatever a candidate did: the next one gets a correct answer from the same zygote."""
        outcome = self.run("result = sum(range(1000))")
        assert (outcome.end, outcome.payload) == (CageEnd.FINISHED, b"499500"), outcome.reason

    @property
    def zygote_pid(self) -> int:
        assert self.cage._zygote is not None
        return self.cage._zygote.pid


def open_broken_cage(*missing: Layer, blob: bytes = b"") -> Cage:
    """A cage whose zygote leaves out layers, which no public way leads to."""
    return Cage(ZygoteSpec(entry=ENTRY, blob=blob, mode=CageMode.FULL, skip=mask_of(missing)))


def wait_until_gone(pids: list[int]) -> list[int]:
    """The pids that still run after a generous wait; a zombie counts as gone."""

    def runs(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
        except (FileNotFoundError, ProcessLookupError):
            return False

    deadline = time.monotonic() + 60
    while (alive := [pid for pid in pids if runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return alive
