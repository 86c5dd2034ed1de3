"""Breeds with a model: asks for a child, lets the gates look at it, sends their findings back, and says how it ended.

    breeder = LlmBreeder(client, profile, prompts=standard_prompts(), record=ledger.keep_call)
    breeding = breeder.breed(proposal, parents, check, known=hashes)
    match breeding.result:
        case Candidate(): ...   # try it; the gates may still refuse it
        case Barren(): ...      # the place stays empty
        case Outage(): ...      # ask for this proposal again later, or stop the run

The text of an answer goes to the gates and nowhere else. It is never mended here, and never run here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.breed import Barren
from evolution.candidate import Candidate, Provenance
from evolution.llm.client import LlmRequest
from evolution.llm.outcomes import Fatal, FatalKind, Retryable, Usage
from evolution.llm.parse import Answer, Flaw, Unreadable, read_answer
from evolution.llm.records import keep_none
from evolution.operators import canonical_hash
from gates.findings import Rejected

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from evolution.llm.client import LlmClient
    from evolution.llm.outcomes import Outcome
    from evolution.llm.profile import LlmProfile
    from evolution.llm.prompt import Prompt, Prompts
    from evolution.llm.records import Recorder
    from evolution.search import Proposal
    from evolution.trial import Trial
    from gates.findings import Verdict
    from runtime.source import StrategySource

Check = Callable[["StrategySource"], "Verdict"]
"""The gates, with their cage bound. Called in the thread that breeds."""

# Over seven models and five rounds most of the gain came in the first two (arXiv 2604.10508); after that a fresh
# proposal is the better use of the money.
REPAIRS = 2

# These say something about one prompt or one answer, not about the endpoint.
_ONE_CALL_ONLY = frozenset({FatalKind.CONTEXT_OVERFLOW, FatalKind.TOO_LARGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The endpoint does not work, and the client has used all its attempts. The proposal is still open."""

    reason: str
    """One line for people: the profile, the outcome's code and what the endpoint said, capped and escaped."""
    is_lasting: bool
    """True where waiting does not help (key, quota, model name, address): stop. False: pause, then ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breeding:
    """How an attempt to breed ended, and what it used."""

    result: Candidate | Barren | Outage
    usage: Usage
    rounds: int
    """Questions that were asked, the first one included; retries of the client do not count."""


@dataclass(slots=True)
class _Course:
    """What has happened so far for one proposal."""

    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    refused: Answer | None = None
    """The last source that the gates refused."""
    was_repair: bool = False
    """Whether that source was itself written in answer to findings."""
    flaw: Unreadable | None = None


class LlmBreeder:
    """Fills proposals with a model's help. Safe to use from several threads when client, check and recorder are.

    Args:
        client: Open, and of the same profile.
        profile: Names the model in what is stored.
        prompts: The texts of this run.
        record: Sees each attempt to reach the model before its answer is read.
        repairs: How often a source or an answer may go back.
    """

    def __init__(
        self,
        client: LlmClient,
        profile: LlmProfile,
        *,
        prompts: Prompts,
        record: Recorder = keep_none,
        repairs: int = REPAIRS,
    ) -> None:
        self._client = client
        self._profile = profile
        self._prompts = prompts
        self._record = record
        self._repairs = repairs

    def breed(
        self, proposal: Proposal, parents: Sequence[Trial], check: Check, *, known: Container[str] = ()
    ) -> Breeding:
        """One child of ``parents``, or why there is none.

        A source that the gates still refuse after the last repair is a candidate all the same: its trial is stored as
        rejected, with its findings, like anybody else's.

        Args:
            proposal: A mutation (one parent) or a crossover (two) for a model.
            parents: The trials of ``proposal.parents``, in that order.
            check: The gates.
            known: Canonical hashes of everything that the run has already; such a child is sent back.

        Raises:
            ValueError: the proposal is not for a model, or the parents do not fit it (see ``Prompts.task``).
        """
        if not proposal.kind.uses_model:
            raise ValueError(f"proposal {proposal.id} ({proposal.kind}) is not for a model")
        task = self._prompts.task(proposal, parents)
        same = {canonical_hash(source) for source in (*task.shown, *(parent.candidate.source for parent in parents))}
        course = _Course()
        prompt = task.first()
        while course.rounds <= self._repairs:
            outcome = self._ask(proposal, prompt, course)
            if isinstance(outcome, Retryable | Fatal):
                return Breeding(result=self._unanswered(proposal, outcome), usage=course.usage, rounds=course.rounds)
            answer = _new_source(read_answer(outcome), same, known)
            if isinstance(answer, Unreadable):
                course.flaw = answer
                prompt = task.again(answer)
                continue
            is_repair = course.refused is not None
            verdict = check(answer.source)
            if not isinstance(verdict, Rejected):
                return self._bred(proposal, answer, course, is_repair=is_repair)
            course.refused, course.was_repair = answer, is_repair
            prompt = task.repair(answer.source, verdict.findings)
        if course.refused is not None:
            return self._bred(proposal, course.refused, course, is_repair=course.was_repair)
        assert course.flaw is not None  # every round ends in a source or a flaw
        barren = Barren(proposal=proposal, reason=f"no usable answer in {course.rounds} rounds: {course.flaw.reason}")
        return Breeding(result=barren, usage=course.usage, rounds=course.rounds)

    def _ask(self, proposal: Proposal, prompt: Prompt, course: _Course) -> Outcome:
        request = LlmRequest(subject=proposal.id, prompt_version=prompt.version, messages=prompt.messages)
        outcome = self._client.complete(request, record=self._record)
        course.usage += outcome.usage
        course.rounds += 1
        return outcome

    def _unanswered(self, proposal: Proposal, outcome: Retryable | Fatal) -> Barren | Outage:
        reason = f"profile {self._profile.name}: {outcome.code}: {outcome.reason}"
        if isinstance(outcome, Fatal) and outcome.kind in _ONE_CALL_ONLY:
            return Barren(proposal=proposal, reason=reason)
        return Outage(reason=reason, is_lasting=isinstance(outcome, Fatal))

    def _bred(self, proposal: Proposal, answer: Answer, course: _Course, *, is_repair: bool) -> Breeding:
        provenance = Provenance(
            operator=proposal.kind.value + ("+repair" if is_repair else ""),
            parents=proposal.parents,
            seed=proposal.seed,
            model=self._profile.model,
            detail=answer.hypothesis,
        )
        candidate = Candidate(
            id=proposal.id,
            run_id=proposal.run_id,
            generation=proposal.generation,
            index=proposal.index,
            source=answer.source,
            provenance=provenance,
        )
        return Breeding(result=candidate, usage=course.usage, rounds=course.rounds)


def _new_source(answer: Answer | Unreadable, same: Container[str], known: Container[str]) -> Answer | Unreadable:
    """The answer, unless it is no new strategy."""
    if isinstance(answer, Unreadable):
        return answer
    digest = canonical_hash(answer.source)
    if digest in same:
        return Unreadable(
            flaw=Flaw.NOOP,
            message="the strategy is the same as its parent",
            hint="change what it does, not only names of text, comments or layout",
        )
    if digest in known:
        return Unreadable(
            flaw=Flaw.DUPLICATE,
            message="the same strategy was tried before in this search",
            hint="take another way to follow the direction",
        )
    return answer
