"""The host for a strategy in another process: the session stays here, the strategy gets one closed bar at a time.

``RemoteHost`` is this side, ``serve_strategy`` the other one; between them is a line that carries whole messages
(``Cage.converse`` makes one). The strategy's process knows the bars that were sent, the values of its own series up to
them and the books as they are shown: it can reach no later bar and no money. What it answers is checked
(``runtime.kernel.dialogue``); a process that ends, lies, floods or says nothing ends the run with a ``Failure``.

A proof run uses it on stored bars, paper trading on a live clock.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TypeVar

from runtime.desk import Action
from runtime.kernel.dialogue import (
    NOTHING,
    DialogueError,
    Farewell,
    MomentCodec,
    Topic,
    decode_declaration,
    decode_farewell,
    decode_news,
    decode_requests,
    encode_declaration,
    encode_farewell,
    encode_news,
    encode_requests,
)
from runtime.kernel.report import Failure
from runtime.kernel.session import Declaration, Glide, RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runtime.cage.outcome import CageOutcome
    from runtime.desk import Moment, Request
    from runtime.kernel.session import Account, StrategyHost
    from runtime.model import Fill

_T = TypeVar("_T")

LOST = "lost"
"""What ``Failure.exception`` says when not the strategy failed but its process, or its word."""

_BAR = Topic.BAR.value

# Bars before the first tradable one travel together; so many fit into a pipe at once.
_MOMENTS_PER_MESSAGE = 256


class Talk(Protocol):
    """This side of a line; ``runtime.cage.Conversation`` is one."""

    def send(self, message: bytes) -> None:
        """Send one message. Neither blocks nor fails: that nobody listens shows in ``receive``."""

    def receive(self) -> bytes | CageOutcome:
        """The next message, or how the other side ended instead; then that again. Waits, but not for ever."""


class Line(Protocol):
    """The other side; ``runtime.cage.line.Line`` is one."""

    def receive(self) -> bytes | None:
        """The next message; None when this side has hung up."""

    def send(self, message: bytes) -> None:
        """Send one message."""


class RemoteHost:
    """Runs a strategy that ``serve_strategy`` serves on the other end of a line. Implements ``StrategyHost``.

    Args:
        talk: the line.
        limits: caps on orders and log, the same as the other side's.
        patience_s: wall seconds that all answers of the run may take together; None waits as long as ``talk`` does for
            each of them.
    """

    def __init__(self, talk: Talk, limits: RunLimits, *, patience_s: float | None = None) -> None:
        self.ended: CageOutcome | None = None
        """How the strategy's process ended, if it did before it was told to."""
        self.broken: str | None = None
        """What was off with its word, if something was."""
        self.is_late = False
        """Its answers took longer than ``patience_s``."""
        self._talk = talk
        self._limits = limits
        self._patience_s = patience_s
        self._hook = "load"
        self._log: tuple[str, ...] | None = None
        self._codec = MomentCodec(0)
        self._orders = 0
        self._waited_s = 0.0

    def start(self) -> Declaration | Failure:
        """Take what the strategy declared; the other side loads it without being asked."""
        declared = self._ask(lambda answer: decode_declaration(answer, self._limits))
        if isinstance(declared, Declaration):
            self._codec = MomentCodec(len(declared.calls))
        return declared

    def warm_up(self, moments: Sequence[Moment]) -> None:
        """Send the bars, and wait for nothing."""
        pack = self._codec.pack
        for start in range(0, len(moments), _MOMENTS_PER_MESSAGE):
            packed = map(pack, moments[start : start + _MOMENTS_PER_MESSAGE])
            self._talk.send(Topic.WARM_UP.value + b"".join(packed))

    def decide(self, moment: Moment, account: Account | None, fills: Sequence[Fill]) -> Sequence[Request] | Failure:
        """Send one bar and what changed, take what is asked for."""
        if account is None and not fills:
            self._talk.send(_BAR + self._codec.pack(moment))
        else:
            self._talk.send(Topic.NEWS.value + self._codec.pack(moment) + encode_news(account, fills))
        self._hook = "on_bar"
        return self._ask(self._requests)

    def glide(self, moments: Iterator[Moment]) -> Glide:
        """Bar after bar, each sent when the answer to the one before is here."""
        moment = None
        for moment in moments:  # the last one is wanted after the loop
            requests = self.decide(moment, None, ())
            if requests:
                return moment, requests
        return moment, ()

    def stop(self) -> Failure | None:
        """Run ``on_stop``, and take the log."""
        self._hook = "on_stop"
        return self._part(Topic.STOP)

    @property
    def dropped(self) -> int:
        """Always 0: the other side sends one request more than allowed instead, which floods by itself."""
        return 0

    @property
    def log(self) -> Sequence[str]:
        """What the strategy logged, asked for when the run is over; nothing when its process is lost."""
        if self._log is None:
            self._part(Topic.LOG)
        return self._log or ()

    def _part(self, topic: Topic) -> Failure | None:
        self._log = ()
        if self._is_lost:
            return None
        self._talk.send(topic.value)
        said = self._ask(lambda answer: decode_farewell(answer, self._limits))
        if not isinstance(said, Farewell):
            return said
        self._log = said.log
        return said.failure

    def _requests(self, answer: bytes) -> Sequence[Request] | Failure:
        if answer == NOTHING:
            return ()
        requests = decode_requests(answer, self._limits)
        return requests if isinstance(requests, Failure) else [self._numbered(request) for request in requests]

    def _numbered(self, request: Request) -> Request:
        if request.action is Action.CANCEL:
            return request
        self._orders += 1
        return request._replace(id=self._orders)

    @property
    def _is_lost(self) -> bool:
        return self.ended is not None or self.broken is not None or self.is_late

    def _ask(self, decode: Callable[[bytes], _T]) -> _T | Failure:
        """Wait for an answer and take it apart."""
        before = time.monotonic()
        answer = self._talk.receive()
        self._waited_s += time.monotonic() - before
        if not isinstance(answer, bytes):
            self.ended = answer
            return self._lost(f"its process {answer.reason}")
        if self._patience_s is not None and self._waited_s > self._patience_s:
            self.is_late = True
            return self._lost(f"its answers took more than {self._patience_s:g} s together")
        try:
            return decode(answer)
        except DialogueError as error:
            self.broken = str(error)
            return self._lost(f"its process sent {error}")

    def _lost(self, why: str) -> Failure:
        return Failure(hook=self._hook, exception=LOST, line=None, message=f"{self._hook} has no result: {why}"[:500])


def serve_strategy(host: StrategyHost, line: Line, limits: RunLimits) -> None:
    """Put ``host``, in the strategy's own process, at the service of a ``RemoteHost``; returns when that hangs up.

    Args:
        host: where the strategy lives; started here.
        line: to the other side.
        limits: the same as the other side's.
    """
    declared = host.start()
    line.send(encode_declaration(declared))
    codec = MomentCodec(0 if isinstance(declared, Failure) else len(declared.calls))
    news_at = 1 + codec.size
    while (message := line.receive()) is not None:
        if message[:1] == _BAR:  # before the others: nearly all are
            line.send(encode_requests(host.decide(codec.unpack(message, 1), None, ()), limits))
            continue
        match Topic(message[:1]):
            case Topic.NEWS:
                account, fills = decode_news(message[news_at:])
                line.send(encode_requests(host.decide(codec.unpack(message, 1), account, fills), limits))
            case Topic.WARM_UP:
                host.warm_up(codec.unpack_all(message))
            case Topic.STOP:
                failure = host.stop()
                line.send(encode_farewell(failure, host.log))
            case Topic.LOG:
                line.send(encode_farewell(None, host.log))
