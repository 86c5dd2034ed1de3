"""The schema as JSON Schema, in the words that constrained decoding understands.

Only ``type``, ``properties``, ``required``, ``additionalProperties``, ``items``, ``anyOf``, ``enum``, ``pattern``, ``description``, ``$ref`` and
``$defs`` are used; ranges stand in descriptions, since decoders leave them unchecked or refuse them. Every property is required, and
those that may be absent may be ``null``, which means the same. Indicators are listed with exactly their own parameters. A text that
satisfies the schema still goes through the whole compiler.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from runtime.indicators import REGISTRY
from runtime.sir.document import Document

if TYPE_CHECKING:
    from runtime.indicators import IndicatorSpec, ParamSpec

_KEPT = (
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "pattern",
    "description",
    "$ref",
)
_RANGES = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


@cache
def json_schema() -> dict[str, Any]:
    """The schema of version 1.2.0. Shared: treat it as read-only."""
    made = Document.model_json_schema()
    parts = {name: _part(part) for name, part in made["$defs"].items()}
    parts["Feature"] = {"anyOf": _features(parts["Feature"])}
    return {**_part(made), "$defs": parts}


def _part(node: dict[str, Any]) -> dict[str, Any]:
    """One node in the narrow vocabulary."""
    if "oneOf" in node:
        node = {**node, "anyOf": node["oneOf"]}
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
    kept = {key: node[key] for key in _KEPT if key in node}
    words = [text.format(f"{node[key]:g}") for key, text in _RANGES.items() if key in node]
    if node.get("format") == "date":
        kept["pattern"] = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    if words:
        kept["description"] = "; ".join([*([kept["description"]] if "description" in kept else []), ", ".join(words)])
    if "properties" in kept:
        kept["properties"] = {name: _part(each) for name, each in kept["properties"].items()}
        kept["required"] = list(kept["properties"])
    if "items" in kept:
        kept["items"] = _part(kept["items"])
    if "anyOf" in kept:
        kept["anyOf"] = [_part(each) for each in kept["anyOf"]]
    return kept


def _features(general: dict[str, Any]) -> list[dict[str, Any]]:
    """One form for each set of parameters, with the indicators that have just these."""
    alike: dict[tuple[tuple[tuple[str, ParamSpec], ...], bool], list[str]] = {}
    for spec in {spec.name: spec for spec in REGISTRY.values() if _is_offered(spec)}.values():
        alike.setdefault((tuple(spec.params.items()), spec.takes_source), []).append(spec.name)
    forms = []
    for (params, takes_source), names in alike.items():
        source = {"$ref": "#/$defs/Source"} if takes_source else {"type": "null"}
        properties = {
            **general["properties"],
            "type": {"type": "string", "enum": names},
            "params": _object({name: _parameter(param) for name, param in params}),
            "source": source,
        }
        forms.append(_object(properties))
    return forms


def _is_offered(spec: IndicatorSpec) -> bool:
    # A pattern in TA-Lib's own numbers is for Python strategies; documents use its true and false.
    return spec.is_boolean or f"{spec.name}.any" not in REGISTRY


def _parameter(param: ParamSpec) -> dict[str, Any]:
    kind = "integer" if param.kind is int else "number"
    return {"type": kind, "description": f"{param.describe()}; usually {param.default:g}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
