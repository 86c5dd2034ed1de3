"""Everybody who writes children for a run: one breeder per profile, and what happens when none of them can.

An outage does not eat candidates. One that may pass holds whoever needs the model, until it works again or patience is at
its end; then, and at once for one that lasts, the run stops with its place still open, or, where that was asked for, the
offline operators fill the place and the child says so.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evolution.breed import Barren, breed_offline
from evolution.llm.background import Background, background
from evolution.llm.bandit import choose, records
from evolution.llm.breeder import Outage
from evolution.llm.budget import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from evolution.candidate import Candidate
    from evolution.llm.bandit import Place, Record
    from evolution.llm.breeder import Check, LlmBreeder
    from evolution.search import Proposal
    from evolution.trial import Trial

FALLBACK = "+fallback"
"""End of the operator's name of a child that the offline operators wrote in a model's place."""

# Between two attempts at an endpoint that was out after all attempts of a call: soon enough to notice, seldom enough to
# leave it in peace.
_PAUSE_S = 30.0


class Patience:
    """How long a run waits for an endpoint that is out. Shared by all threads, so that they wait together.

    Args:
        limit_s: Seconds from the first failure after a success; 0 never waits.
        monotonic: The clock.
        pause: Waits so many seconds; None waits until then or until the run is being stopped.
        say: Told in one line when the run begins to wait.
    """

    def __init__(
        self,
        limit_s: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] | None = None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._limit_s = limit_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._pause = pause or self._closed.wait
        self._say = say
        self._out_since: float | None = None
        self._gave_up: Outage | None = None

    @property
    def gave_up(self) -> Outage | None:
        """The outage that ended the patience; nobody asks any more after that."""
        return self._gave_up

    def worked(self) -> None:
        """The endpoint answers."""
        with self._lock:
            self._out_since = None

    def wait(self, outage: Outage) -> bool:
        """Wait a while after a failure; False when there is no use in asking again."""
        now = self._monotonic()
        with self._lock:
            begins = self._out_since is None
            if self._out_since is None:
                self._out_since = now
            left_s = self._out_since + self._limit_s - now
            if outage.is_lasting or left_s <= 0:
                self._gave_up = self._gave_up or outage
            if self._gave_up is not None:
                return False
        if begins:
            self._say(f"the run waits up to {self._limit_s:.0f} s for its model: {outage.reason}")
        self._pause(min(_PAUSE_S, left_s))
        return not self._closed.is_set()

    @property
    def is_closed(self) -> bool:
        """Whether the run is being stopped."""
        return self._closed.is_set()

    def close(self) -> None:
        """The run is being stopped: nobody waits any longer."""
        self._closed.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    """What the places of one generation are filled with."""

    background: Background
    records: Mapping[str, Record]


class Team:
    """Fills the places of a run that are for a model. Safe to use from several threads.

    Args:
        breeders: One per profile, in the operator's order; not empty.
        places: Reads what filling each place took so far.
        patience: Shared with nobody else.
        falls_back: Whether the offline operators fill a place that no model can.
        replayed: The trials of the run that is repeated, by candidate id; empty for a run of its own.
        hang_up: Ends the calls under way.
    """

    def __init__(  # noqa: PLR0913 - it joins what a run has open
        self,
        breeders: Sequence[LlmBreeder],
        *,
        places: Callable[[], Mapping[str, Place]],
        patience: Patience,
        falls_back: bool = False,
        replayed: Mapping[str, Trial] | None = None,
        hang_up: Callable[[], object] = lambda: None,
    ) -> None:
        self._breeders = {breeder.profile.name: breeder for breeder in breeders}
        self._places = places
        self._patience = patience
        self._falls_back = falls_back
        self._replayed = replayed or {}
        self._hang_up = hang_up
        self._generation = _Generation(
            background=Background(), records=records(list(self._breeders), (), {}, in_money=False)
        )

    def close(self) -> None:
        """The run is being stopped: end every wait and every call; their places stay open."""
        self._patience.close()
        self._hang_up()

    def begin(self, trials: Sequence[Trial]) -> None:
        """A generation begins.

        Args:
            trials: All trials of the generations before it, empty places included.
        """
        prices = {
            breeder.profile.price.currency if breeder.profile.price else None for breeder in self._breeders.values()
        }
        in_money = len(prices) == 1 and None not in prices
        self._generation = _Generation(
            background=background(trials),
            records=records(list(self._breeders), trials, self._places(), in_money=in_money),
        )

    def breed(
        self, proposal: Proposal, parents: Sequence[Trial], check: Check, *, known: Container[str]
    ) -> Candidate | Barren | Outage:
        """Fill one place.

        Args:
            proposal: For a model.
            parents: The trials of ``proposal.parents``, in that order.
            check: The gates.
            known: Canonical hashes of what the run had when the generation began.
        """
        repeated = self._replayed.get(proposal.id)
        if repeated is not None and repeated.candidate.provenance.operator.endswith(FALLBACK):
            return self._offline(proposal, parents, known, repeated.candidate.provenance.detail)
        result = self._by_model(proposal, parents, check, known)
        if not isinstance(result, Outage):
            return result
        if self._falls_back and not self._patience.is_closed:
            return self._offline(proposal, parents, known, f"{proposal.kind.value}: {result.reason}")
        if result.scope is Scope.GENERATION:
            # Waiting would not lower it, and stopping would only come back to the same place.
            return Barren(proposal=proposal, reason=result.reason)
        return result

    def _by_model(
        self, proposal: Proposal, parents: Sequence[Trial], check: Check, known: Container[str]
    ) -> Candidate | Barren | Outage:
        generation = self._generation
        breeder = self._breeders[choose(proposal, generation.records)]
        while self._patience.gave_up is None:
            breeding = breeder.breed(proposal, parents, check, known=known, background=generation.background)
            result = breeding.result
            if not isinstance(result, Outage):
                self._patience.worked()
                return result
            if result.scope is Scope.GENERATION:
                return result
            if not self._patience.wait(result):
                return result
        return self._patience.gave_up

    def _offline(
        self, proposal: Proposal, parents: Sequence[Trial], known: Container[str], why: str
    ) -> Candidate | Barren:
        made = breed_offline(proposal, [parent.candidate.source for parent in parents], known)
        if isinstance(made, Barren):
            return made
        provenance = replace(made.provenance, operator=made.provenance.operator + FALLBACK, detail=why)
        return replace(made, provenance=provenance)
