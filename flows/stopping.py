"""A stop on request that cannot get lost.

Prefect swallows an interrupt that arrives while it closes a flow run, and a night closes one per generation. So whoever
asks to stop is remembered, and asked after between generations.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_requested = threading.Event()


def listen() -> None:
    """Take Ctrl-C and a scheduler's stop as a request. Where Ctrl-C is ignored (background jobs of a shell) it stays so."""
    _requested.clear()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_signal)
    signal.signal(signal.SIGTERM, _on_signal)


def obey() -> None:
    """Go on, unless somebody has asked to stop.

    Raises:
        KeyboardInterrupt: somebody has.
    """
    if _requested.is_set():
        raise KeyboardInterrupt


@contextmanager
def as_asked() -> Iterator[None]:
    """What breaks after somebody has asked to stop is that stop: Prefect and its client answer an interrupt with errors of their own.

    Raises:
        KeyboardInterrupt: in the place of any error, when somebody has asked.
    """
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if _requested.is_set():
            raise KeyboardInterrupt from error
        raise


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    _requested.set()
    raise KeyboardInterrupt
