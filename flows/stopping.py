"""A stop on request that cannot get lost.

Prefect swallows an interrupt that arrives while it closes a flow run, and a night closes one per generation. So whoever
asks to stop is remembered, and asked after between generations.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    _requested.set()
    raise KeyboardInterrupt
