"""Signs of life while work goes on, from a thread of its own."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runtime.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def beating(beat: Callable[[], object], every_s: float) -> Iterator[None]:
    """Call ``beat`` again and again while the block runs. A database that is away is asked again at the next beat."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(every_s):
            try:
                beat()
            except StoreError:
                # Whoever writes next finds out, and has somebody to tell it to.
                continue

    # A daemon, since a beat may hang in a database that does not answer, and nobody should wait for it.
    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
