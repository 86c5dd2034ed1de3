from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from cage_arena import ENTRY

from runtime.cage import CageLimits
from runtime.cage.layers import Layer

if TYPE_CHECKING:
    from cage_arena import Arena

SHOW_LIMITS = """
names = ["AS", "DATA", "CPU", "FSIZE", "CORE", "NOFILE", "MEMLOCK", "MSGQUEUE", "STACK"]
result = repr({name: list(resource.getrlimit(getattr(resource, "RLIMIT_" + name))) for name in names})
result = result.replace("'", '"').encode()
"""


def test_a_child_has_every_limit_soft_and_hard(arena: Arena) -> None:
    outcome = arena.run_without(SHOW_LIMITS, Layer.SECCOMP, limits=CageLimits(cpu_s=2.5, memory_mib=64))
    assert outcome.payload is not None, outcome
    limits = json.loads(outcome.payload)
    assert limits["CPU"] == [3, 4]
    for name in ("FSIZE", "CORE", "NOFILE", "MEMLOCK", "MSGQUEUE"):
        assert limits[name] == [0, 0], name
    assert limits["STACK"] == [8 << 20, 8 << 20]
    for name in ("AS", "DATA"):
        soft, hard = limits[name]
        assert soft == hard
        assert 64 << 20 < soft < 1 << 30, "what the zygote uses and the budget, and not more"


def test_the_memory_budget_comes_on_top_of_what_a_child_starts_with(arena: Arena) -> None:
    program = "result = len(bytes({mib} << 20)) >> 20"
    roomy, tight = CageLimits(memory_mib=96), CageLimits(memory_mib=32)
    assert arena.run(program.format(mib=80), roomy).payload == b"80"
    assert arena.run(program.format(mib=80), tight).end.value == "out_of_memory"


def test_limits_that_the_host_was_started_with_stay_where_they_are_tighter() -> None:
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from runtime.cage import CageLimits, CageMode\n"
        "from runtime.cage.host import Cage\n"
        "from runtime.cage.launch import ZygoteSpec\n"
        "from runtime.cage.layers import Layer\n"
        f"spec = ZygoteSpec(entry={ENTRY!r}, blob=b'', mode=CageMode.FULL, skip=Layer.SECCOMP.bit)\n"
        "with Cage(spec) as cage:\n"
        f"    print(cage.run({SHOW_LIMITS.encode()!r}, CageLimits(cpu_s=100)).payload.decode())\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -t 50 && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["CPU"] == [50, 50]
