"""Hostile documents: whatever comes in, a value comes out, soon."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.sir import Mode
from runtime.sir.compile import Compiled, Refused, compile_document
from runtime.sir.explain import assumption_lines, explain
from runtime.sir.plan import as_document
from runtime.sir.read import _STRING

GOLDEN = Path(__file__).parents[2] / "sir_golden"
DOCUMENTS = [
    json.loads(path.read_text()) for path in (GOLDEN / "plans").glob("*.json") if not path.name.endswith(".plan.json")
]
WORDS = st.sampled_from(
    ["", "rsi", "RSI", "close", "1d", "1h", "09:30", "percent", "points", "MACD.macd", "CDLDOJI", "UTC", "America", "../etc",
     "indicator", "literal", "price", "time", "1.0.0", "1.1.0", "1.2.0", "live", "é", "\u202e", "\x00", "long", "2020-01-01"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    WORDS,
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(WORDS, max_size=2),
)


def paths(value, at=()):
    yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in children:
        yield from paths(each, (*at, key))


@st.composite
def mutants(draw):
    """A golden document with some of its parts replaced, removed, doubled or renamed."""
    tree = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.sampled_from([path for path in paths(tree) if path]))
        parent = tree
        for step in at[:-1]:
            parent = parent[step]
        match draw(st.sampled_from(["replace", "replace", "remove", "graft", "extra"])):
            case "replace":
                parent[at[-1]] = draw(LEAVES)
            case "remove":
                del parent[at[-1]]
            case "graft":
                parent[at[-1]] = copy.deepcopy(draw(st.sampled_from([tree, parent])))
            case "extra" if isinstance(parent, dict):
                parent[draw(WORDS)] = draw(LEAVES)
            case _:
                parent.append(copy.deepcopy(parent[-1]))
    return tree


def survives(data, mode=None):
    compiled = compile_document(data, mode=mode)
    if isinstance(compiled, Compiled):
        json.dumps(as_document(compiled.plan), allow_nan=False)
        assert all(line.isprintable() for line in (*explain(compiled.plan), *assumption_lines(compiled.plan)))
    else:
        assert isinstance(compiled, Refused)
        assert all(problem.line.isprintable() for problem in compiled.problems)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutants(), st.sampled_from([None, *Mode]))
def test_a_mutated_document_gives_a_value(tree, mode):
    survives(json.dumps(tree).encode(), mode)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_give_a_value(data):
    survives(data)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(DOCUMENTS), st.data())
def test_damaged_text_gives_a_value(tree, data):
    text = json.dumps(tree)
    at = data.draw(st.integers(0, len(text) - 1))
    survives((text[:at] + data.draw(st.text(max_size=3)) + text[at + 1 :]).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "data",
    [
        b"{" + b" " * 10_000_000 + b"}",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b'"' + b"\\" * 60_000,
        b'{"a":' + b"9" * 60_000 + b"}",
        b'{"a":1e' + b"9" * 60_000 + b"}",
        b'{"a":-0}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        json.dumps({"schema_version": ["1.0.0"]}).encode(),
        json.dumps({"schema_version": "1.0.0", "signals": {"entry": {}}, "risk": [], "market": 3}).encode(),
        json.dumps(DOCUMENTS[0] | {"features": [{}] * 9_000}).encode(),
    ],
    ids=range(12),
)
def test_a_hostile_file_is_refused(data):
    assert isinstance(compile_document(data), Refused)


def test_a_text_that_never_ends_is_looked_at_once():
    """Otherwise each of its quotes is tried as a beginning: seconds for one document."""
    text = '"' + '\\"' * 1_000
    assert _STRING.findall(text) == [text]
    assert isinstance(compile_document(b'{"a":' + text.encode()), Refused)


def test_the_key_that_is_there_twice_is_named():
    keys = ",".join(f'"{number:x}":0' for number in range(2_000))
    (problem,) = compile_document(f'{{{keys},"7cf":1}}'.encode()).problems
    assert "'7cf' is there twice" in problem.what
