"""Breeds with a model: asks for a child, lets the gates look at it, sends their findings back, and says how it ended.

    breeder = LlmBreeder(client, profile, prompts=standard_prompts(), book=ledger)
    breeding = breeder.breed(proposal, parents, check, known=hashes)
    match breeding.result:
        case Candidate(): ...   # try it; the gates may still refuse it
        case Barren(): ...      # the place stays empty
        case Outage(): ...      # ask for this proposal again later, or stop the run

The text of an answer goes to the gates and nowhere else. It is never mended here, and never run here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from evolution.breed import Barren
from evolution.candidate import Candidate, Provenance, derived_seed
from evolution.llm.advice import way_out
from evolution.llm.background import NO_BACKGROUND
from evolution.llm.book import NO_BOOK
from evolution.llm.budget import Scope
from evolution.llm.document_prompt import DocumentTask, document_prompts
from evolution.llm.grammar import strategy_grammar
from evolution.llm.outcomes import Fatal, FatalKind, Held, Retryable
from evolution.llm.parse import Answer, Flaw, Unreadable
from evolution.llm.prompt import Manner
from evolution.llm.question import LlmRequest
from evolution.llm.usage import Usage
from evolution.operators import canonical_hash
from evolution.proposal import ProposalKind
from gates.findings import Rejected
from runtime.source import Language

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from evolution.llm.background import Background
    from evolution.llm.book import CallBook
    from evolution.llm.client import LlmClient
    from evolution.llm.outcomes import Outcome
    from evolution.llm.profile import LlmProfile
    from evolution.llm.prompt import Prompt, Prompts, Task
    from evolution.llm.shape import Shape
    from evolution.proposal import Proposal
    from evolution.trial import Trial
    from gates.findings import Finding, Verdict
    from runtime.source import StrategySource

Check = Callable[["StrategySource"], "Verdict"]
"""The gates, with their cage bound, and whoever else has findings for the author. Called in the thread that breeds."""

# Over seven models and five rounds most of the gain came in the first two (arXiv 2604.10508); after that a fresh
# proposal is the better use of the money.
REPAIRS = 2
# What shows only when the code runs is mended less often than a rule that is named before it.
RUN_TIME_REPAIRS = 1
RUN_TIME_RULES = frozenset(
    {
        "load-raises",
        "raises",
        "killed-in-load",
        "killed-in-dry-run",
        "order-flood",
        "changes-shared",
        "not-deterministic",
    }
)
"""Rules of the gates that are found by running a source."""

# These say something about one prompt or one answer, not about the endpoint.
_ONE_CALL_ONLY = frozenset({FatalKind.CONTEXT_OVERFLOW, FatalKind.TOO_LARGE})
_SCRATCH_OPERATOR = "llm/scratch"
_SCRATCH_STREAM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """There is no answer to be had: the endpoint does not work, or a ceiling is reached. The proposal is still open."""

    reason: str
    """One line for people: the profile, what happened, and which setting to change. Server text in it is capped."""
    is_lasting: bool
    """True where waiting does not help (key, quota, model name, address, ceiling): stop. False: pause, then ask again."""
    scope: Scope | None = None
    """The ceiling that is reached: ``GENERATION``, ``RUN`` or ``DAY``; None for an endpoint that does not work."""
    after_s: float | None = None
    """How long the endpoint asked to wait, seconds; None when it did not say."""
    is_spent: bool = False
    """True where this question must not be asked again: it may have been paid for, or the endpoint refuses it. Whether the
    endpoint or this one question is at fault shows only by other questions (``team.Patience``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breeding:
    """How an attempt to breed ended, and what it used."""

    result: Candidate | Barren | Outage
    usage: Usage
    """Of calls that were sent; answers that the book already had cost nothing."""
    rounds: int
    """Questions that were asked, the first one included; retries of the client do not count."""


@dataclass(slots=True)
class _Course:
    """What has happened so far for one proposal."""

    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    run_time_repairs: int = 0
    refused: Answer | None = None
    """The last source that the gates refused."""
    was_repair: bool = False
    """Whether that source was itself written in answer to findings."""
    obstacle: str = ""
    """Why the last answer was no source."""


class LlmBreeder:
    """Fills proposals with a model's help. Safe to use from several threads when client, check and book are.

    Args:
        client: Open, and of the same profile.
        profile: Names the model in what is stored, and says how it wants to be asked.
        prompts: The texts of this run.
        book: Keeps each attempt, and holds those beyond a ceiling.
        repairs: How often a source or an answer may go back.
        scratch_share: Share of mutations that are asked for without a parent (0..1).
    """

    def __init__(  # noqa: PLR0913 - it joins what a run has open
        self,
        client: LlmClient,
        profile: LlmProfile,
        *,
        prompts: Prompts,
        book: CallBook = NO_BOOK,
        repairs: int = REPAIRS,
        scratch_share: float = 0.0,
    ) -> None:
        self.profile = profile
        self._client = client
        self._prompts = prompts
        self._book = book
        self._repairs = repairs
        self._scratch_share = scratch_share
        self._shape = strategy_grammar() if profile.constrained else None

    def breed(
        self,
        proposal: Proposal,
        parents: Sequence[Trial],
        check: Check,
        *,
        known: Container[str] = (),
        background: Background = NO_BACKGROUND,
    ) -> Breeding:
        """One child of ``parents``, or why there is none.

        A source that the gates still refuse after the last repair is a candidate all the same: its trial is stored as
        rejected, with its findings, like anybody else's.

        Args:
            proposal: A mutation (one parent) or a crossover (two) for a model.
            parents: The trials of ``proposal.parents``, in that order.
            check: The gates.
            known: Canonical hashes of everything that the run has already; such a child is sent back.
            background: What the run's complete generations have shown.

        Raises:
            ValueError: the proposal is not for a model, or the parents do not fit it (see ``Prompts.task``).
        """
        if not proposal.kind.uses_model:
            raise ValueError(f"proposal {proposal.id} ({proposal.kind}) is not for a model")
        proposal, parents = _of_one_language(proposal, parents)
        task = self._task(proposal, parents, background)
        same = {canonical_hash(source) for source in (*task.shown, *(parent.candidate.source for parent in parents))}
        course = _Course()
        prompt: Prompt | None = task.first()
        is_repair = False
        while prompt is not None:
            outcome = self._ask(proposal, prompt, course, task.shape if isinstance(task, DocumentTask) else self._shape)
            if isinstance(outcome, Retryable | Fatal | Held):
                return self._unanswered(proposal, task, outcome, course)
            answer = _new_source(task.read(outcome, is_first=course.rounds == 1), same, known)
            if isinstance(answer, Unreadable):
                course.obstacle = answer.reason
                prompt = task.again(answer) if course.rounds <= self._repairs else None
                is_repair = False  # the question is asked anew, without the source that was refused
                continue
            verdict = check(answer.source)
            if not isinstance(verdict, Rejected):
                return self._bred(proposal, task, answer, course, is_repair=is_repair)
            course.refused, course.was_repair = answer, is_repair
            is_repair = True
            prompt = (
                task.repair(answer.source, verdict.findings) if self._may_repair(verdict.findings, course) else None
            )
        return self._given_up(proposal, task, course)

    def _task(self, proposal: Proposal, parents: Sequence[Trial], background: Background) -> Task | DocumentTask:
        dice = random.Random(derived_seed(proposal.seed, _SCRATCH_STREAM)).random()
        if parents and parents[0].candidate.source.language is Language.SIR:
            prompts = document_prompts(
                is_held=self.profile.documents_as == "schema", brief=self.profile.contract == "brief"
            )
            return prompts.task(proposal, parents, background=background, scratch=dice < self._scratch_share)
        return self._prompts.task(
            proposal,
            parents,
            background=background,
            scratch=dice < self._scratch_share,
            edits=self.profile.mutate_as == "search_replace",
        )

    def _may_repair(self, findings: Sequence[Finding], course: _Course) -> bool:
        if findings[0].rule in RUN_TIME_RULES:
            course.run_time_repairs += 1
            if course.run_time_repairs > RUN_TIME_REPAIRS:
                return False
        return course.rounds <= self._repairs

    def _ask(self, proposal: Proposal, prompt: Prompt, course: _Course, shape: Shape | None) -> Outcome:
        request = LlmRequest(
            subject=proposal.id,
            prompt_version=prompt.version,
            messages=prompt.messages,
            generation=proposal.generation,
            ordinal=course.rounds + 1,
            shape=shape,
        )
        outcome = self._client.complete(request, book=self._book)
        course.usage += outcome.usage
        course.rounds += 1
        return outcome

    def _unanswered(
        self, proposal: Proposal, task: Task | DocumentTask, outcome: Retryable | Fatal | Held, course: _Course
    ) -> Breeding:
        reason = f"profile {self.profile.name}: {outcome.code}: {outcome.reason}"
        if isinstance(outcome, Held) and outcome.scope in {Scope.CALL, Scope.CANDIDATE}:
            course.obstacle = reason
            return self._given_up(proposal, task, course)
        result: Barren | Outage
        if isinstance(outcome, Held):
            result = Outage(reason=f"{reason}; raise it to go on", is_lasting=True, scope=outcome.scope)
        elif isinstance(outcome, Fatal) and outcome.kind in _ONE_CALL_ONLY:
            result = Barren(proposal=proposal, reason=reason)
        else:
            result = _outage(reason + way_out(self.profile, outcome), outcome)
        return Breeding(result=result, usage=course.usage, rounds=course.rounds)

    def _given_up(self, proposal: Proposal, task: Task | DocumentTask, course: _Course) -> Breeding:
        """No more questions: the last refused source is the candidate; without one the place stays empty."""
        if course.refused is not None:
            return self._bred(proposal, task, course.refused, course, is_repair=course.was_repair)
        barren = Barren(proposal=proposal, reason=f"no usable answer in {course.rounds} rounds: {course.obstacle}")
        return Breeding(result=barren, usage=course.usage, rounds=course.rounds)

    def _bred(
        self, proposal: Proposal, task: Task | DocumentTask, answer: Answer, course: _Course, *, is_repair: bool
    ) -> Breeding:
        is_scratch = task.manner is Manner.SCRATCH
        provenance = Provenance(
            operator=(_SCRATCH_OPERATOR if is_scratch else proposal.kind.value) + ("+repair" if is_repair else ""),
            parents=() if is_scratch else proposal.parents,
            seed=proposal.seed,
            model=self.profile.model,
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


def _of_one_language(proposal: Proposal, parents: Sequence[Trial]) -> tuple[Proposal, Sequence[Trial]]:
    """Parents that can be joined: of a document and a Python file nothing can, so the first one is varied alone."""
    if len({parent.candidate.source.language for parent in parents}) < 2:
        return proposal, parents
    alone = replace(proposal, kind=ProposalKind.LLM_MUTATE, parents=proposal.parents[:1])
    return alone, parents[:1]


def _outage(reason: str, outcome: Retryable | Fatal) -> Outage:
    if isinstance(outcome, Fatal):
        return Outage(reason=reason, is_lasting=True, is_spent=outcome.kind is FatalKind.BAD_REQUEST)
    was_billed = bool(outcome.usage.prompt_tokens)
    return Outage(reason=reason, is_lasting=False, after_s=outcome.after_s, is_spent=was_billed)


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
