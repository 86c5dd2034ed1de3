"""What one caged child costs: `python benchmarks/bench_cage_fork.py [--runs N] [--numpy]`.

Prints the median and the 90th percentile of one whole ``cage.run`` (order, fork, lockdown, a job that does nothing,
result, reaping) and the memory that one idle child has to itself. The difference to a cage whose children skip the
lockdown is what the layers cost. Figures depend on the machine and its load: compare ratios, not absolutes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from runtime.cage import Cage, CageEnd, CageLimits, CageMode
from runtime.cage.launch import ZygoteSpec
from runtime.cage.layers import Layer, mask_of

_LIMITS = CageLimits(cpu_s=5, wall_s=60)
_PER_CHILD = (Layer.UID, Layer.CAPABILITIES, Layer.PARENT_DEATH, Layer.MEMORY, Layer.CPU, Layer.LANDLOCK, Layer.NEW_DESCRIPTORS, Layer.SECCOMP)  # fmt: skip
_WARM_UP = 10


def prepare(blob: bytes) -> None:
    """Load what the real entry loads, when asked to."""
    if blob == b"numpy":
        import numpy as np

        np.linalg.inv(np.eye(3))


def run(job: bytes) -> bytes:
    """Do nothing."""
    return job


def converse(job: bytes, line: object) -> bytes:
    """Live until the host hangs up, so that it can be measured."""
    line.receive()  # type: ignore[attr-defined]
    return job


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--numpy", action="store_true", help="with numpy in the zygote, as in a real run")
    options = parser.parse_args()
    sys.path.append(str(Path(__file__).parent))
    blob = b"numpy" if options.numpy else b""
    for name, skip in (("locked down", ()), ("without the layers of a child", _PER_CHILD)):
        spec = ZygoteSpec(entry="bench_cage_fork:run", blob=blob, mode=CageMode.FULL, skip=mask_of(skip))
        with Cage(spec) as cage:
            times_ms = sorted(_time_one(cage) for _ in range(options.runs + _WARM_UP))[:-_WARM_UP]
            print(
                f"{name}: median {statistics.median(times_ms):.2f} ms, p90 {times_ms[len(times_ms) * 9 // 10]:.2f} ms"
            )
            if not skip:
                print(f"memory of one child: {_memory_of_one(cage)}")


def _time_one(cage: Cage) -> float:
    start = time.perf_counter()
    outcome = cage.run(b"", _LIMITS)
    assert outcome.end is CageEnd.FINISHED, outcome
    return (time.perf_counter() - start) * 1e3


def _memory_of_one(cage: Cage) -> str:
    with cage.converse(b"", _LIMITS) as talk:
        time.sleep(0.1)
        try:
            text = Path(f"/proc/{talk.pid}/smaps_rollup").read_text(encoding="ascii")
        except PermissionError:
            return "only root may look into a caged child"
    sizes = {line.split()[0].rstrip(":"): int(line.split()[1]) for line in text.splitlines()[1:] if "kB" in line}
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return f"private {private / 1024:.1f} MiB, proportional {sizes['Pss'] / 1024:.1f} MiB"


if __name__ == "__main__":
    main()
