"""The prompts for documents of the closed language, and how their answers are read: what ``prompt`` is for Python files.

The same rules hold. What is shown of a parent are its rules and numbers, without a word that somebody could have planted in it:
its name, its assumptions and its market's name are left out, and its features are named after their types. An answer has exactly one
reading, byte for byte, and the compiler has the last word on it. An endpoint that holds answers to the JSON schema gives a document and
nothing else; any other one is asked for one block.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from evolution.llm.background import NO_BACKGROUND
from evolution.llm.contract import BRIEF_INDICATORS
from evolution.llm.outcomes import Text
from evolution.llm.parse import (
    HYPOTHESIS_LIMIT,
    Answer,
    Unreadable,
    only_document,
    read_block,
)
from evolution.llm.plain import one_line
from evolution.llm.prompt import (
    Asking,
    Manner,
    Prompt,
    PromptText,
    data_block,
    directions_in,
    figures_of,
    history,
    note_of,
    prompt_text,
)
from evolution.llm.question import Message, Role
from evolution.llm.shape import JsonSchema
from evolution.operators.documents import parse, without_words
from fitness.objectives import DEFAULT_RULES
from runtime.desk import MAX_LOOKBACK
from runtime.indicators import REGISTRY, SOURCES
from runtime.sir.document import SCHEMA_VERSION
from runtime.sir.json_schema import json_schema
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from evolution.llm.background import Background
    from evolution.llm.outcomes import Answered
    from evolution.proposal import Proposal
    from evolution.trial import Trial
    from gates.findings import Finding

_MOST_FINDINGS = 8
_NOTE_LIMIT = 300
_LANGUAGES = frozenset({"", "json"})
_BLOCK_HINT = "answer with the line HYPOTHESIS: and then exactly one block between ```json and ```, whole and closed"
_SCHEMA_HINT = "answer with the whole JSON document and nothing else"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPrompts:
    """The prompts of one run for one kind of endpoint; see ``evolution.llm.prompt.Prompts``."""

    system: PromptText
    is_held: bool
    """Whether the endpoint holds answers to the schema."""

    def task(
        self,
        proposal: Proposal,
        parents: Sequence[Trial],
        *,
        background: Background = NO_BACKGROUND,
        scratch: bool = False,
    ) -> DocumentTask:
        """What to ask for a proposal; the arguments are those of ``Prompts.task``.

        Raises:
            ValueError: the parents do not fit the proposal, are no documents, have no scorecard, or a card with other than
                train cells.
        """
        if not parents or [parent.candidate.id for parent in parents] != list(proposal.parents):
            raise ValueError(f"proposal {proposal.id} has parents {proposal.parents}, which are not those handed in")
        manner = Manner.CROSSOVER if len(parents) > 1 else Manner.SCRATCH if scratch else Manner.MUTATE
        rng = random.Random(proposal.seed)
        shown = [shown_document(parent.candidate.source) for parent in parents]
        directions = prompt_text("document_directives")
        pieces = {
            **_pieces(manner, parents, [each.text.removesuffix("\n") for each in shown], rng),
            "directive": rng.choice(directions_in(directions, manner.value)),
            "history": history(manner, background, parents, rng),
        }
        text = prompt_text(f"document_{manner.value}")
        return DocumentTask(
            system=self.system,
            is_held=self.is_held,
            manner=manner,
            question=text.fill(**pieces),
            version=f"{self.system.version} {text.version} {directions.version}",
            shown=() if manner is Manner.SCRATCH else tuple(shown),
            rng=rng,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTask(Asking):
    """One document to be written; see ``evolution.llm.prompt.Task``."""

    is_held: bool
    """Whether the endpoint holds the answer to the schema."""
    shown: tuple[StrategySource, ...]
    rng: random.Random = field(repr=False)

    @property
    def shape(self) -> JsonSchema | None:
        """What the answer is held to."""
        return document_shape() if self.is_held else None

    def first(self) -> Prompt:
        """The question as it is asked at first."""
        return self._prompt(self.question, self.version)

    def read(self, outcome: Answered, *, is_first: bool) -> Answer | Unreadable:  # noqa: ARG002 - a document is always whole
        """The one reading of an answer: the document that it is, or the one block in it."""
        hint = _SCHEMA_HINT if self.is_held else _BLOCK_HINT
        plain = only_document(outcome) if isinstance(outcome, Text) else None
        found = read_block(outcome, languages=_LANGUAGES, kind="json") if plain is None else plain
        if isinstance(found, Unreadable):
            return replace(found, hint=hint) if "```python" in found.hint else found
        source = StrategySource(found.code.encode("utf-8", "surrogatepass"), Language.SIR)
        return Answer(source=source, hypothesis=found.hypothesis or _idea(source))

    def repair(self, source: StrategySource, findings: Sequence[Finding]) -> Prompt:
        """The question, the document that was refused as the model's own words, and what the compiler says of it."""
        text = prompt_text("document_repair")
        entries = [
            {
                "rule": each.rule,
                "message": one_line(each.message, _NOTE_LIMIT),
                "hint": one_line(each.hint, _NOTE_LIMIT),
            }
            for each in findings[:_MOST_FINDINGS]
        ]
        said = source.data.decode("utf-8", "replace")
        answer = Message(Role.ASSISTANT, said if self.is_held else f"```json\n{said}```")
        demand = Message(Role.USER, text.fill(findings=data_block(entries, self.rng)))
        return self._prompt(self.question, f"{self.version} {text.version}", answer, demand)


@cache
def document_prompts(*, is_held: bool, brief: bool = False) -> DocumentPrompts:
    """The prompts for an endpoint that holds answers to the schema, or that does not.

    Args:
        is_held: whether it does.
        brief: for small windows: leaves out most indicators and all patterns.
    """
    template = prompt_text("document_system")
    known = [spec for spec in REGISTRY.values() if not spec.is_boolean and f"{spec.name}.any" not in REGISTRY]
    lines = []
    for spec in known:
        if not brief or spec.name in BRIEF_INDICATORS:
            words = (["source"] if spec.takes_source else []) + [f"{n}={p.default:g}" for n, p in spec.params.items()]
            lines.append(f"{spec.name}({', '.join(words)})")
    patterns = ", ".join(name for name in REGISTRY if f"{name}.any" in REGISTRY)
    text = template.fill(
        version=SCHEMA_VERSION,
        sources=", ".join(SOURCES),
        lookback=str(MAX_LOOKBACK),
        indicators=" ".join(lines),
        patterns="" if brief else f"Candlestick patterns, each with `.any`, `.bullish` and `.bearish`: {patterns}\n",
        max_drawdown=f"{DEFAULT_RULES.max_drawdown:.0%}",
        min_trades=str(DEFAULT_RULES.min_trades),
        answer="The JSON document and nothing else: no fence, no word before or after it."
        if is_held
        else "One line that starts with `HYPOTHESIS:` and says what you expect your change to improve. Then exactly one block, "
        "opened by ```json and closed by ```, with the whole document. Nothing after it. Plain ASCII only.",
    )
    declared = template.version.partition(".")[0]
    version = f"{declared}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return DocumentPrompts(system=PromptText(version, text), is_held=is_held)


@cache
def document_shape() -> JsonSchema:
    """What an endpoint that can holds a document to: the schema of ``trigate sir schema``."""
    return JsonSchema("sir_document", json_schema())


def shown_document(source: StrategySource) -> StrategySource:
    """A document as a prompt may show it.

    Raises:
        ValueError: it is no document of the newest version that compiles.
    """
    tree = parse(source)
    if tree is None:
        raise ValueError(f"source {source.sha256[:12]} cannot be shown: it is no document that compiles")
    text = json.dumps(without_words(tree), indent=1) + "\n"
    return StrategySource(text.encode(), Language.SIR)


def _pieces(manner: Manner, parents: Sequence[Trial], shown: Sequence[str], rng: random.Random) -> dict[str, str]:
    tables = [figures_of(parent) for parent in parents]
    if manner is Manner.SCRATCH:
        market: Any = json.loads(shown[0])["market"]
        return {"figures": tables[0], "market": json.dumps(market)}
    if manner is Manner.MUTATE:
        pieces = {"parent": shown[0], "figures": tables[0]}
    else:
        pieces = {
            "first": shown[0],
            "first_figures": tables[0],
            "second": shown[1],
            "second_figures": tables[1],
        }
    return {**pieces, "notes": data_block([note_of(parent) for parent in parents], rng)}


def _idea(source: StrategySource) -> str:
    """What a document says about itself: its name. Data, never trusted."""
    tree = parse(source)
    return "" if tree is None else one_line(str(tree["name"]), HYPOTHESIS_LIMIT)
