"""Whoever asks a run to stop is heard, also when the exception of the signal gets lost."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import CancelledError

import pytest

from flows import stopping
from runtime.store import StoreError


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    stopping._requested.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


def ask(number):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_whose_exception_was_swallowed_is_still_obeyed(number):
    stopping.listen()
    stopping.obey()
    ask(number)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            stopping.obey()


def test_a_new_run_begins_without_a_request():
    stopping.listen()
    ask(signal.SIGINT)
    stopping.listen()
    stopping.obey()


def test_where_ctrl_c_is_ignored_it_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopping.listen()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("error", [RuntimeError, CancelledError, asyncio.CancelledError, StoreError])
def test_what_breaks_after_a_request_is_that_request(error):
    """Prefect's client answers an interrupt with errors of its own."""
    stopping.listen()
    with pytest.raises(error), stopping.as_asked():
        raise error("nobody asked")
    ask(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stopping.as_asked():
        raise error("the loop is gone")
