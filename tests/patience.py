"""Waiting for what happens in other processes, on machines that are shared."""

from __future__ import annotations

import time

PATIENCE_S = 1_200
"""Only for what hangs: a busy machine may take long for anything."""


def wait_until(condition, what, *, pause_s=0.1):
    """What a condition gives as soon as it is true.

    Raises:
        AssertionError: it was not within the patience.
    """
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(pause_s)
    raise AssertionError(f"{what} did not happen in time")
