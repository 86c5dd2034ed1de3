"""How long a document takes from its bytes to a plan with its hash, processor time after imports.

Run with ``make bench-sir``. Every golden document is compiled in rounds; the figure of each is the best round, since
others on the machine can only make it slower.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.sir.compile import Compiled, compile_document
from runtime.sir.digest import document_sha256
from runtime.sir.read import read

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "tests" / "sir_golden" / "plans"
ROUNDS, CALLS = 15, 50
LIMIT_MS = 2.0


def best_ms(work: Callable[[], object]) -> float:
    """Milliseconds of processor time of one call, in the best of the rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            work()
        best = min(best, time.process_time() - start)
    return best / CALLS * 1e3


def main() -> None:
    """Print one line per golden document."""
    worst = 0.0
    print("document\tbytes\tfirst ms\tcompile and hash ms\thash alone ms")
    for path in sorted(path for path in GOLDEN.glob("*.json") if not path.name.endswith(".plan.json")):
        data = path.read_bytes()
        start = time.process_time()
        if not isinstance(compile_document(data), Compiled):
            raise SystemExit(f"{path.name} does not compile")
        first = (time.process_time() - start) * 1e3
        both = best_ms(lambda data=data: compile_document(data))  # type: ignore[misc]  # bound at once
        alone = best_ms(lambda data=data: document_sha256(read(data)))  # type: ignore[misc]  # bound at once
        worst = max(worst, both)
        print(f"{path.stem}\t{len(data)}\t{first:.3f}\t{both:.3f}\t{alone:.3f}")
    print(f"slowest: {worst:.3f} ms (goal: under {LIMIT_MS:g})")


if __name__ == "__main__":
    main()
