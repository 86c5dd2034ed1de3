"""What an answer is held to by an endpoint that can constrain its decoding.

A constraint guarantees a valid *beginning* of the shape and no more: an answer that hits the token limit stops anywhere,
and servers leave parts of a JSON schema unchecked (llama.cpp: bounds of numbers). So the finish reason still comes first,
and whoever reads the answer still checks all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Grammar:
    """A context-free grammar in GBNF, the notation of llama.cpp; its start symbol is ``root``."""

    text: str


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A JSON document of this schema."""

    name: str
    """At most 64 letters, digits, ``-`` and ``_``."""
    schema: Mapping[str, Any]


Shape = Grammar | JsonSchema


class ShapeUnsupportedError(Exception):
    """The profile's dialect cannot hold an answer to this shape: choose another profile, or ask without a shape."""


def _response_format(shape: JsonSchema) -> dict[str, Any]:
    schema = {"name": shape.name, "schema": dict(shape.schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _text_format(shape: JsonSchema) -> dict[str, Any]:
    schema = {"type": "json_schema", "name": shape.name, "schema": dict(shape.schema), "strict": True}
    return {"text": {"format": schema}}


def _output_config(shape: JsonSchema) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(shape.schema)}}}


_GRAMMARS: Mapping[str, Callable[[Grammar], dict[str, Any]]] = {
    "llamacpp": lambda shape: {"grammar": shape.text},
    # The guided_* fields of older versions are gone since 0.12.
    "vllm": lambda shape: {"structured_outputs": {"grammar": shape.text}},
}
_SCHEMAS: Mapping[str, Callable[[JsonSchema], dict[str, Any]]] = {
    "openai_chat": _response_format,
    "openai_responses": _text_format,
    "anthropic": _output_config,
    "llamacpp": _response_format,
    "vllm": lambda shape: {"structured_outputs": {"json": dict(shape.schema)}},
    "ollama": lambda shape: {"format": dict(shape.schema)},
}
GRAMMAR_DIALECTS = frozenset(_GRAMMARS)
"""Dialects that can hold an answer to a grammar."""


def shape_fields(shape: Shape | None, dialect: str) -> dict[str, Any]:
    """The fields of a request body that hold its answer to ``shape``; none when there is no shape.

    >>> shape_fields(Grammar('root ::= "yes" | "no"'), "llamacpp")
    {'grammar': 'root ::= "yes" | "no"'}

    Raises:
        ShapeUnsupportedError: the dialect has no way to say it.
    """
    match shape:
        case None:
            return {}
        case Grammar() if dialect in _GRAMMARS:
            return _GRAMMARS[dialect](shape)
        case JsonSchema() if dialect in _SCHEMAS:
            return _SCHEMAS[dialect](shape)
        case _:
            kind = "grammar" if isinstance(shape, Grammar) else "JSON schema"
            raise ShapeUnsupportedError(f"dialect {dialect} cannot hold an answer to a {kind}")
