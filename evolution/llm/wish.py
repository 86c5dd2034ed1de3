"""Turns a wish in plain words into a document: ask under the schema, compile, send problems back, never repair.

A person reads the result: assumptions that the model made are in the document, and a document with open ones is not promoted.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from evolution.llm.outcomes import Fatal, Held, Malformed, Retryable, Text
from evolution.llm.prompt import PromptText, prompt_text
from evolution.llm.question import LlmRequest, Message, Role
from evolution.llm.shape import JsonSchema
from evolution.llm.usage import Usage
from runtime.indicators import REGISTRY, SOURCES
from runtime.sir.compile import Compiled, Refused, compile_document
from runtime.sir.document import SCHEMA_VERSION
from runtime.sir.json_schema import json_schema

if TYPE_CHECKING:
    from evolution.llm.client import LlmClient
    from evolution.llm.outcomes import Outcome

MAX_WISH = 4_000
"""Characters: two pages."""
_ROUNDS = 3
_MOST_PROBLEMS = 8

_EXAMPLE = {
    "schema_version": SCHEMA_VERSION,
    "name": "RSI crosses",
    "market": {"name": "us_equity", "timeframe": "1d", "timezone": None},
    "universe": None,
    "features": [{"id": "rsi", "type": "RSI", "params": {"timeperiod": 14}, "timeframe": None, "source": "close"}],
    "signals": {
        side: [
            {
                "all": [
                    {
                        "left": {"kind": "indicator", "id": "rsi"},
                        "operator": operator,
                        "right": {"kind": "literal", "value": level},
                    }
                ]
            }
        ]
        for side, operator, level in (("entry", "crosses_above", 30), ("exit", "crosses_below", 70))
    },
    "risk": None,
    "sizing": {"type": "FIXED_QTY", "value": 1},
    "execution": {
        "mode": "backtest",
        "direction": "long",
        "order_type": "market",
        "product": "delivery",
        "price_offset_percent": None,
    },
    "session": None,
    "date_range": None,
    "legs": None,
    "explainability": {
        "assumptions": [
            {"id": "source", "text": "The RSI reads closing prices.", "needs_confirmation": True},
            {"id": "product", "text": "Shares are paid for in full and held overnight.", "needs_confirmation": True},
        ]
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A document that compiles."""

    data: bytes
    """The document as it should be stored: indented JSON, nulls left out."""
    compiled: Compiled
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class NotWritten:
    """No document came of it."""

    reason: str
    """One sentence."""
    usage: Usage


def write_document(wish: str, client: LlmClient) -> Written | NotWritten:
    """Ask for a document that says what ``wish`` says.

    Args:
        wish: what the person wants, at most ``MAX_WISH`` characters.
        client: an endpoint whose dialect can hold an answer to a JSON schema.
    """
    subject = hashlib.sha256(wish.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    prompt = wish_prompt()
    # The tag's end in the wish would close it: as JSON text it cannot be there.
    task = json.dumps(wish).replace("<", "\\u003c")
    messages = [Message(Role.SYSTEM, prompt.text), Message(Role.USER, f"<data-wish>{task}</data-wish>")]
    usage, last = Usage(), ""
    for ordinal in range(1, _ROUNDS + 1):
        outcome = client.complete(
            LlmRequest(
                subject=subject,
                prompt_version=prompt.version,
                messages=tuple(messages),
                ordinal=ordinal,
                shape=JsonSchema("sir_document", json_schema()),
            )
        )
        usage += outcome.usage
        if not isinstance(outcome, Text):
            return NotWritten(reason=_why(outcome), usage=usage)
        compiled = compile_document(_stored(outcome.text))
        if isinstance(compiled, Compiled):
            return Written(data=_stored(outcome.text), compiled=compiled, usage=usage)
        last = compiled.reason
        messages += [Message(Role.ASSISTANT, outcome.text), Message(Role.USER, _again(compiled))]
    return NotWritten(reason=f"no answer of {_ROUNDS} compiles; the last one: {last}", usage=usage)


def _stored(answer: str) -> bytes:
    """An answer in the form in which it is stored. What is no plain JSON object is left as it is, for the compiler to refuse."""
    data = answer.strip().encode("utf-8", "surrogatepass")
    compiled = compile_document(data)
    if isinstance(compiled, Refused):
        return data
    tree = compiled.document.model_dump(mode="json", exclude_none=True)
    return (json.dumps(tree, indent=2) + "\n").encode()


def _again(refused: Refused) -> str:
    lines = [problem.line for problem in refused.problems[:_MOST_PROBLEMS]]
    return "The compiler refuses the document:\n" + "\n".join(f"- {line}" for line in lines) + (
        "\nAnswer with the whole corrected JSON document and nothing else."
    )  # fmt: skip


def _why(outcome: Outcome) -> str:
    match outcome:
        case Retryable(reason=reason) | Fatal(reason=reason) | Held(reason=reason) | Malformed(reason=reason):
            return f"the model did not answer ({outcome.code}): {reason}"
        case _:
            return (
                f"the model's answer holds no document ({outcome.code}): ask again, or raise max_tokens of the profile"
            )


@cache
def wish_prompt() -> PromptText:
    """The system text with the registry filled in."""
    template = prompt_text("wish")
    functions = {spec.name: spec for spec in REGISTRY.values() if not spec.is_boolean}
    plain = [spec for name, spec in functions.items() if f"{name}.any" not in REGISTRY]
    lines = []
    for spec in plain:
        words = (["source"] if spec.takes_source else []) + [f"{n}={p.default:g}" for n, p in spec.params.items()]
        lines.append(f"{spec.name}({', '.join(words)})")
    text = template.fill(
        version=SCHEMA_VERSION,
        sources=", ".join(SOURCES),
        indicators=" ".join(lines),
        patterns=", ".join(name for name in functions if f"{name}.any" in REGISTRY),
        example=json.dumps(_EXAMPLE),
    )
    return PromptText(f"{template.version.partition('.')[0]}.{hashlib.sha256(text.encode()).hexdigest()[:8]}", text)
