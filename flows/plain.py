"""A search without Prefect: the loop that ``flows.evolve`` wraps, for benchmarks and tests that ask what Prefect adds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.night import Night


def search_plainly(night: Night) -> None:
    """Breed, try and select until the search is over; nothing is admitted."""
    with ThreadPoolExecutor(max_workers=night.at_once()) as pool:
        while night.search.end is None and night.stop_reason() is None:
            try:
                list(pool.map(night.try_candidate, night.breed()))
            except BaseException:
                night.stop()  # otherwise threads would go on waiting for other processes
                raise
            night.close_generation()
    night.conclude()
