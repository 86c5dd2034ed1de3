"""Builds the prompts: one system text for all, one task for each proposal, and what follows when an answer is sent back.

What a prompt may hold, and nothing else: the contract, a parent's code without a word of prose (``showing``), figures of
train folds (``figures``), one direction of ours drawn by the proposal's seed, and data: recorded hypotheses, how earlier
attempts on the lineage ended (``background``) and the gates' findings, as JSON between tags whose name nobody can guess.
Never what a candidate raised or printed.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from evolution.llm.background import NO_BACKGROUND
from evolution.llm.edits import apply_edits
from evolution.llm.fallback import idea
from evolution.llm.figures import figures
from evolution.llm.parse import Answer, Unreadable, read_answer, read_block
from evolution.llm.plain import one_line
from evolution.llm.question import Message, Role
from evolution.llm.showing import shown_text
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.llm.background import Background
    from evolution.llm.outcomes import Answered
    from evolution.proposal import Proposal
    from evolution.trial import Trial
    from gates.findings import Finding

# More findings than this drown the first one, and models mend a class of mistakes, not a list.
_MOST_FINDINGS = 5
_NOTE_LIMIT = 240
_EXCERPT_LIMIT = 120


# What a block of sections may be tagged with.
_EDIT_LANGUAGES = frozenset({"", "python", "py", "python3", "diff"})


class Manner(Enum):
    """What is asked for; the value is the name of the prompt's file."""

    MUTATE = "mutate"
    CROSSOVER = "crossover"
    SCRATCH = "scratch"
    """A strategy without a parent. The parents of the proposal are not shown, and are no parents of the child."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """One Markdown file of ``evolution.llm.prompts``."""

    version: str
    """Declared version and the first digits of the text's own hash, so that a forgotten raise still shows."""
    text: str

    def fill(self, **values: str) -> str:
        """The text with its ``$names`` replaced, once: a ``$`` in a value stays as it is."""
        return Template(self.text).substitute(values)


@cache
def prompt_text(name: str) -> PromptText:
    """The text called ``name``, like ``mutate``."""
    first, _, text = files("evolution.llm.prompts").joinpath(f"{name}.md").read_text("utf-8").partition("\n")
    declared = first.removeprefix("version: ")
    if declared == first:
        raise ValueError(f"prompt {name}.md must begin with a line like 'version: {name}-1', not {first!r}")
    return PromptText(f"{declared}.{hashlib.sha256(text.encode()).hexdigest()[:8]}", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages ready to send."""

    messages: tuple[Message, ...]
    version: str
    """Versions of the texts in it, separated by spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The prompts of one run.

    The system text comes first and never changes within a run, so that endpoints may cache it.
    """

    system: PromptText
    """Already filled in; see ``evolution.llm.contract``."""
    words: frozenset[str]
    """String literals that a shown strategy keeps."""

    def task(
        self,
        proposal: Proposal,
        parents: Sequence[Trial],
        *,
        background: Background = NO_BACKGROUND,
        scratch: bool = False,
        edits: bool = False,
    ) -> Task:
        """What to ask for a proposal.

        Args:
            proposal: A mutation or a crossover; its seed draws the direction and the names of the data tags.
            parents: The trials of ``proposal.parents``, in that order; all of them ran.
            background: What the run's complete generations have shown.
            scratch: Ask for a strategy without a parent instead of a mutation.
            edits: Ask for SEARCH/REPLACE sections instead of a whole file; only a mutation can be answered so.

        Raises:
            ValueError: the parents do not fit the proposal, have no scorecard, or a card with other than train cells.
        """
        if not parents or [parent.candidate.id for parent in parents] != list(proposal.parents):
            raise ValueError(f"proposal {proposal.id} has parents {proposal.parents}, which are not those handed in")
        manner = Manner.CROSSOVER if len(parents) > 1 else Manner.SCRATCH if scratch else Manner.MUTATE
        rng = random.Random(proposal.seed)
        shown = [shown_text(parent.candidate.source, self.words) for parent in parents]
        pieces = self._pieces(manner, parents, shown, rng)
        directions = prompt_text("directives")
        pieces["directive"] = rng.choice(directions_in(directions, manner.value))
        pieces["history"] = history(manner, background, parents, rng)
        text = prompt_text(manner.value)
        return Task(
            system=self.system,
            manner=manner,
            question=text.fill(**pieces),
            version=f"{self.system.version} {text.version} {directions.version}",
            shown=() if manner is Manner.SCRATCH else tuple(StrategySource.from_text(code) for code in shown),
            edits=edits and manner is Manner.MUTATE,
            rng=rng,
        )

    def _pieces(
        self, manner: Manner, parents: Sequence[Trial], shown: Sequence[str], rng: random.Random
    ) -> dict[str, str]:
        tables = [figures_of(parent) for parent in parents]
        shown = [code.removesuffix("\n") for code in shown]
        match manner:
            case Manner.SCRATCH:
                return {"figures": tables[0]}
            case Manner.MUTATE:
                pieces = {"parent": shown[0], "figures": tables[0]}
            case Manner.CROSSOVER:
                pieces = {
                    "first": shown[0],
                    "first_figures": tables[0],
                    "second": shown[1],
                    "second_figures": tables[1],
                }
        return {**pieces, "notes": data_block([note_of(parent) for parent in parents], rng)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One child to be written, in whatever language: the question, and how to ask it again."""

    system: PromptText
    manner: Manner
    question: str
    version: str
    """Versions of the texts in the question and of the system text."""

    def again(self, flaw: Unreadable) -> Prompt:
        """The same question after an answer without a reading. Its text does not come back: there is nothing to mend."""
        text = prompt_text("again")
        remark = text.fill(flaw=flaw.flaw.value, message=flaw.message, hint=flaw.hint)
        return self._prompt(f"{self.question}\n{remark}", f"{self.version} {text.version}")

    def _prompt(self, question: str, version: str, *more: Message) -> Prompt:
        system = Message(Role.SYSTEM, self.system.text)
        return Prompt(messages=(system, Message(Role.USER, question), *more), version=version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Asking):
    """One strategy file to be written: the first question, and how to read what comes."""

    shown: tuple[StrategySource, ...]
    """The parents as the model sees them; empty when it sees none."""
    edits: bool
    """Whether the first answer is to be SEARCH/REPLACE sections. After that only whole files are asked for: who missed
    once by a letter does so again."""
    rng: random.Random = field(repr=False)

    def first(self) -> Prompt:
        """The question as it is asked at first."""
        if not self.edits:
            return self._prompt(self.question, self.version)
        text = prompt_text("edits")
        return self._prompt(f"{self.question}\n{text.text}", f"{self.version} {text.version}")

    def read(self, outcome: Answered, *, is_first: bool) -> Answer | Unreadable:
        """The one reading of an answer to the first question, or to a later one."""
        if not (self.edits and is_first):
            return read_answer(outcome)
        found = read_block(outcome, languages=_EDIT_LANGUAGES)
        if isinstance(found, Unreadable):
            return found
        changed = apply_edits(self.shown[0].text, found.code)
        if isinstance(changed, Unreadable):
            return changed
        return Answer(source=StrategySource.from_text(changed), hypothesis=found.hypothesis)

    def repair(self, source: StrategySource, findings: Sequence[Finding]) -> Prompt:
        """The question, the source that the gates refused as the model's own words, and what they found in it."""
        text = prompt_text("repair")
        lines = source.text.split("\n")
        entries = [_entry(finding, lines) for finding in _first_of_each_rule(findings)]
        answer = Message(Role.ASSISTANT, _fenced(source.text))
        demand = Message(Role.USER, text.fill(findings=data_block(entries, self.rng)))
        return self._prompt(self.question, f"{self.version} {text.version}", answer, demand)


def history(manner: Manner, background: Background, parents: Sequence[Trial], rng: random.Random) -> str:
    """What the run has shown so far; empty when there is nothing to say."""
    sections: list[str] = []
    attempts = [] if manner is Manner.SCRATCH else background.attempts(parents)
    if attempts:
        sections.append(f"What was tried on this lineage lately, oldest first:\n\n{data_block(attempts, rng)}")
    refusals = background.refusals()
    if refusals:
        sections.append(f"What the gates refused most often in this search:\n\n{data_block(refusals, rng)}")
    return "".join(f"{section}\n\n" for section in sections)


def figures_of(parent: Trial) -> str:
    """A parent's figures on train; a trial that did not run has none, and is no parent."""
    if parent.scorecard is None:
        raise ValueError(f"trial {parent.candidate.id} ended as {parent.outcome.value}: only what ran is bred from")
    return figures(parent.scorecard)


def directions_in(text: PromptText, name: str) -> list[str]:
    """The lines for one manner of asking."""
    return [line.removeprefix(f"{name}: ") for line in text.text.splitlines() if line.startswith(f"{name}: ")]


def note_of(parent: Trial) -> dict[str, str]:
    """Where a parent came from, as data."""
    provenance = parent.candidate.provenance
    return {"made_by": provenance.operator, "idea": idea(provenance, _NOTE_LIMIT)}


def _first_of_each_rule(findings: Sequence[Finding]) -> list[Finding]:
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.rule, finding)
    return list(first.values())[:_MOST_FINDINGS]


def _entry(finding: Finding, lines: Sequence[str]) -> dict[str, str | int]:
    code = lines[finding.line - 1] if 1 <= finding.line <= len(lines) else ""
    return {
        "gate": finding.gate,
        "rule": finding.rule,
        "line": finding.line,
        "column": finding.column,
        "code": one_line(code, _EXCERPT_LIMIT),
        "message": one_line(finding.message, _NOTE_LIMIT),
        "hint": one_line(finding.hint, _NOTE_LIMIT),
    }


def data_block(entries: Sequence[object], rng: random.Random) -> str:
    """Entries as JSON, one a line, between tags that their text cannot close."""
    body = "\n".join(json.dumps(entry, ensure_ascii=True) for entry in entries)
    name = f"data-{rng.getrandbits(64):016x}"
    while name in body:
        name = f"data-{rng.getrandbits(64):016x}"
    return f"<{name}>\n{body}\n</{name}>"


def _fenced(code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}python\n{code}{'' if code.endswith(chr(10)) else chr(10)}{fence}"
