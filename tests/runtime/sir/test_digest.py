"""A document's identity: what may change it and what may not."""

import copy
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.sir.digest import document_sha256
from runtime.sir.read import read

BASE = json.loads((Path(__file__).parents[2] / "sir_golden" / "plans" / "limit_trailing.json").read_text())


def sha(text):
    return document_sha256(read(text.encode()))


def shuffled(value, dice):
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(each, dice) for each in value] if isinstance(value, list) else value


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([None, 1, "\t"]))
def test_order_of_keys_and_white_space_do_not_change_it(dice, indent):
    assert sha(json.dumps(shuffled(BASE, dice), indent=indent)) == sha(json.dumps(BASE))


def test_it_is_this_very_value():
    """Stored approvals point at it, so canonical form must never move."""
    assert sha('{"b": [1, 2.5, "é"], "a": null, "c": true}') == (
        "65ba7c9228cfb9d97bf42edb21cfeeacc19d69a5ada255adba1cd41a4d66a638"
    )


@pytest.mark.parametrize("text", ["30.0", "3e1", "30", "300e-1", "0.3e2"])
def test_a_number_has_one_form(text):
    assert sha(f'{{"value": {text}}}') == sha('{"value": 30}')


def test_null_and_absence_are_the_same():
    assert sha(json.dumps(BASE | {"session": None})) == sha(json.dumps(BASE))


def test_escapes_do_not_change_it():
    assert sha('{"a": "\\u00e9\\u0062"}') == sha('{"a": "éb"}')


def leaves(value, at=()):
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*at, key))
    else:
        yield at


@pytest.mark.parametrize("at", list(leaves(BASE)), ids=lambda at: ".".join(map(str, at)))
def test_any_change_of_a_value_changes_it(at):
    tree = copy.deepcopy(BASE)
    parent = tree
    for step in at[:-1]:
        parent = parent[step]
    old = parent[at[-1]]
    parent[at[-1]] = (not old) if isinstance(old, bool) else old + 1 if isinstance(old, int | float) else f"{old}x"
    assert sha(json.dumps(tree)) != sha(json.dumps(BASE))


def test_numbers_that_differ_in_the_last_place_differ():
    dice = random.Random(5)
    values = {dice.uniform(-1e6, 1e6) for _ in range(200)}
    assert len({sha(json.dumps({"v": value})) for value in values}) == len(values)
