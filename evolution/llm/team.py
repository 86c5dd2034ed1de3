"""Everybody who writes children for a run: one breeder per profile, and what happens when none of them can.

An outage does not eat candidates. One that may pass holds whoever needs the model, until it works again or patience is at
its end; then, and at once for one that lasts, the run stops with its place still open, or, where that was asked for, the
offline operators fill the place and the child says so.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from evolution.breed import Barren, breed_offline
from evolution.llm.background import Background, background
from evolution.llm.bandit import choose, records
from evolution.llm.breeder import Outage
from evolution.llm.budget import Scope
from evolution.llm.fallback import FALLBACK
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from evolution.candidate import Candidate
    from evolution.llm.bandit import Place, Record
    from evolution.llm.breeder import Check, LlmBreeder
    from evolution.proposal import Proposal
    from evolution.trial import Trial

# Between two attempts at an endpoint that was out after all attempts of a call: soon enough to notice, seldom enough to
# leave it in peace.
_PAUSE_S = 30.0


class Next(Enum):
    """What to do after an outage."""

    ASK_AGAIN = "ask again"
    LEAVE_EMPTY = "this place stays empty: the profile answers others"
    GIVE_UP = "this profile is not asked any more"


@dataclass(slots=True)
class _Standing:
    """How a profile does."""

    answers: bool = False
    """Whether the last that is known of it is an answer."""
    out_since: float | None = None
    told: float | None = None
    """When people were last told that the run waits."""
    gave_up: Outage | None = None


class Patience:
    """How long a run waits for an endpoint that is out: profile by profile, and for all threads, so that they wait together.

    - Trouble that passes and cost nothing: ask again, after 30 s or what the server asked for. At ``limit_s`` after the
      profile's first failure it is given up; at ``limit_s`` after the place's first failure, with answers to others in
      between, the place stays empty.
    - A question that may have been paid for, or that the endpoint refuses, is never asked again. Its place stays empty when
      the last that is known of the profile is an answer; otherwise the profile is given up. So an outage that looks
      like this costs one place at most, and a question that nobody can answer stops no run.
    - What lasts (key, quota, address, model): given up at once. A ceiling of the run or the day ends it for all.

    Args:
        limit_s: Seconds; 0 never waits.
        monotonic: The clock.
        pause: Waits so many seconds; None waits until then or until the run is being stopped.
        say: Told in one line when the run begins to wait, at most once in ``limit_s``.
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
        self._standings: defaultdict[str, _Standing] = defaultdict(_Standing)
        self._ceiling: Outage | None = None

    def gave_up(self, profile: str) -> Outage | None:
        """The outage that ended the patience with a profile, or with all; nobody asks it any more after that."""
        return self._ceiling or self._standings[profile].gave_up

    def worked(self, profile: str) -> None:
        """The endpoint answers."""
        with self._lock:
            standing = self._standings[profile]
            standing.answers, standing.out_since = True, None

    def now(self) -> float:
        """The clock that ``wait`` measures a place by."""
        return self._monotonic()

    def wait(self, profile: str, outage: Outage, *, since: float) -> Next:
        """What to do after an outage; returns after the wait, where there is one.

        Args:
            profile: Who was asked.
            outage: How it ended.
            since: When the place failed first.
        """
        with self._lock:
            if self._closed.is_set():
                return Next.GIVE_UP
            standing = self._standings[profile]
            pause_s = self._pause_s(standing, outage, since)
            if isinstance(pause_s, Next):
                return pause_s
            tells = standing.told is None or self._monotonic() - standing.told >= self._limit_s
            standing.told = self._monotonic() if tells else standing.told
        if tells:
            self._say(f"the run waits up to {self._limit_s:.0f} s for its model: {outage.reason}")
        self._pause(pause_s)
        return Next.GIVE_UP if self._closed.is_set() else Next.ASK_AGAIN

    def _pause_s(self, standing: _Standing, outage: Outage, since: float) -> float | Next:
        now = self._monotonic()
        answered, standing.answers = standing.answers, False
        if outage.is_spent and answered:
            return Next.LEAVE_EMPTY
        standing.out_since = now if standing.out_since is None else standing.out_since
        asked_s = outage.after_s or 0.0
        profile_left_s = standing.out_since + self._limit_s - now
        if outage.is_spent or outage.is_lasting or profile_left_s <= 0 or asked_s > profile_left_s:
            standing.gave_up = standing.gave_up or outage
            self._ceiling = self._ceiling or (outage if outage.scope is not None else None)
        if self._ceiling or standing.gave_up:
            return Next.GIVE_UP
        place_left_s = since + self._limit_s - now
        if place_left_s <= 0:
            return Next.LEAVE_EMPTY
        return max(asked_s, min(_PAUSE_S, profile_left_s, place_left_s))

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
    asked: Mapping[str, str]
    """The profile that was asked last, of places that were begun before: by a run that is resumed, or is repeated."""


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
            background=Background(), records=records(list(self._breeders), (), {}, in_money=False), asked={}
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
        places = self._places()
        for trial in trials:
            if trial.candidate.provenance.model is not None and trial.candidate.id in places:
                self._patience.worked(places[trial.candidate.id].profile)
        self._generation = _Generation(
            background=background(trials),
            records=records(list(self._breeders), trials, places, in_money=in_money),
            asked={identity: place.profile for identity, place in places.items()},
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
        if repeated is not None:
            return self._repeat(repeated, proposal, parents, check, known)
        result = self._by_anyone(proposal, parents, check, known)
        if not isinstance(result, Outage):
            return result
        if self._falls_back and not self._patience.is_closed:
            return self._offline(proposal, parents, known, f"{proposal.kind.value}: {result.reason}")
        if result.scope is Scope.GENERATION:
            # Waiting would not lower it, and stopping would only come back to the same place.
            return Barren(proposal=proposal, reason=result.reason)
        return result

    def _repeat(
        self, repeated: Trial, proposal: Proposal, parents: Sequence[Trial], check: Check, known: Container[str]
    ) -> Candidate | Barren | Outage:
        """From stored answers alone; a place that an outage had left empty stays empty."""
        provenance = repeated.candidate.provenance
        if provenance.operator.endswith(FALLBACK):
            return self._offline(proposal, parents, known, provenance.detail)
        name = self._next(proposal, self._generation.records)
        result = self._breeding(name, proposal, parents, check, known)
        if isinstance(result, Outage) and repeated.outcome is TrialOutcome.BARREN:
            return Barren(proposal=proposal, reason=repeated.reason)
        return result

    def _by_anyone(
        self, proposal: Proposal, parents: Sequence[Trial], check: Check, known: Container[str]
    ) -> Candidate | Barren | Outage:
        """By the profile whose turn it is; by another one where that one is given up."""
        left = dict(self._generation.records)
        while True:
            name = self._next(proposal, left)
            result = self._by_model(name, proposal, parents, check, known)
            del left[name]
            if not left or not isinstance(result, Outage) or result.scope is not None or self._patience.is_closed:
                return result

    def _next(self, proposal: Proposal, among: Mapping[str, Record]) -> str:
        """Who was asked for this place before, since answers are stored; else whom the bandit chooses."""
        asked = self._generation.asked.get(proposal.id)
        return asked if asked is not None and asked in among else choose(proposal, among)

    def _by_model(
        self, name: str, proposal: Proposal, parents: Sequence[Trial], check: Check, known: Container[str]
    ) -> Candidate | Barren | Outage:
        since: float | None = None
        while (gave_up := self._patience.gave_up(name)) is None:
            result = self._breeding(name, proposal, parents, check, known)
            if not isinstance(result, Outage):
                self._patience.worked(name)
                return result
            if result.scope is Scope.GENERATION:
                return result
            since = self._patience.now() if since is None else since
            match self._patience.wait(name, result, since=since):
                case Next.LEAVE_EMPTY:
                    return Barren(proposal=proposal, reason=result.reason)
                case Next.GIVE_UP:
                    return result
                case Next.ASK_AGAIN:
                    pass
        return gave_up

    def _breeding(
        self, name: str, proposal: Proposal, parents: Sequence[Trial], check: Check, known: Container[str]
    ) -> Candidate | Barren | Outage:
        background = self._generation.background
        return self._breeders[name].breed(proposal, parents, check, known=known, background=background).result

    def _offline(
        self, proposal: Proposal, parents: Sequence[Trial], known: Container[str], why: str
    ) -> Candidate | Barren:
        made = breed_offline(proposal, [parent.candidate.source for parent in parents], known)
        if isinstance(made, Barren):
            return made
        provenance = replace(made.provenance, operator=made.provenance.operator + FALLBACK, detail=why)
        return replace(made, provenance=provenance)
