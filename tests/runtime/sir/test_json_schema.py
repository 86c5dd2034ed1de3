"""The JSON Schema that decoders get."""

import json
from pathlib import Path

import pytest

from runtime.indicators import REGISTRY
from runtime.sir.compile import compile_document
from runtime.sir.json_schema import json_schema

GOLDEN = Path(__file__).parents[2] / "sir_golden" / "plans"
WORDS = {
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
    "$defs",
}


def nodes(node):
    """All schema nodes."""
    yield node
    for key in ("properties", "$defs"):
        for each in node.get(key, {}).values():
            yield from nodes(each)
    for each in [*node.get("anyOf", []), *([node["items"]] if "items" in node else [])]:
        yield from nodes(each)


def test_it_uses_only_words_that_decoders_know():
    assert {key for node in nodes(json_schema()) for key in node} <= WORDS


def test_every_object_is_closed_and_asks_for_all_its_properties():
    for node in nodes(json_schema()):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_every_indicator_is_listed_with_exactly_its_parameters():
    listed = {}
    for form in json_schema()["$defs"]["Feature"]["anyOf"]:
        for name in form["properties"]["type"]["enum"]:
            listed[name] = (set(form["properties"]["params"]["properties"]), "$ref" in form["properties"]["source"])
    offered = {s.name: s for s in REGISTRY.values() if s.is_boolean or f"{s.name}.any" not in REGISTRY}
    assert listed == {name: (set(spec.params), spec.takes_source) for name, spec in offered.items()}


@pytest.mark.parametrize(
    "path", [p for p in GOLDEN.glob("*.json") if not p.name.endswith(".plan.json")], ids=lambda p: p.stem
)
def test_golden_documents_fit_it_when_written_out(path):
    document = compile_document(path.read_bytes()).document.model_dump(mode="json")
    schema = json_schema()
    assert fits(document, schema, schema["$defs"])


def fits(value, node, parts):
    """A small validator for the few words in use."""
    if "$ref" in node:
        return fits(value, parts[node["$ref"].rsplit("/", 1)[1]], parts)
    if "anyOf" in node:
        return any(fits(value, each, parts) for each in node["anyOf"])
    if "enum" in node and value not in node["enum"]:
        # A pattern by its plain name is the same as its .any series.
        return f"{value}.any" in node["enum"]
    match node["type"]:
        case "object":
            known = node["properties"]
            return (
                isinstance(value, dict)
                and set(value) == set(known)
                and all(fits(value[k], known[k], parts) for k in known)
            )
        case "array":
            return isinstance(value, list) and all(fits(each, node["items"], parts) for each in value)
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, str)


def test_it_is_plain_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()
