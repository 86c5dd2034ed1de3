"""Older schema versions, read in the newest one."""

import copy

import pytest

from runtime.sir.problems import Problem
from runtime.sir.upgrade import upgrade

RULE = {"left": {"kind": "time"}, "operator": ">", "right": {"kind": "literal", "value": "10:00"}}
OLD = {
    "schema_version": "1.0.0",
    "market": "nse",
    "timeframe": "15m",
    "signals": {"entry": [RULE, RULE], "exit": [RULE]},
    "risk": {"stop_loss_percent": 5, "take_profit_percent": None, "time_stop_bars": 3},
    "execution": {"mode": "backtest", "direction": "short"},
}


def test_each_step_says_in_newer_words_what_the_older_version_meant():
    assert upgrade(OLD) == {
        "schema_version": "1.2.0",
        "market": {"name": "nse", "timeframe": "15m"},
        "signals": {"entry": [{"all": [RULE, RULE]}], "exit": [{"all": [RULE]}]},
        "risk": {"stop_loss": {"value": 5, "unit": "percent"}, "take_profit": None, "time_stop_bars": 3},
        "execution": {"mode": "backtest", "direction": "short", "order_type": "market", "product": "carry_forward"},
    }


def test_what_is_stored_is_not_touched():
    before = copy.deepcopy(OLD)
    upgrade(OLD)
    assert before == OLD


def test_two_words_for_one_thing_are_left_for_the_schema_to_refuse():
    """A stop in both words must not lose one of them in silence."""
    risk = {"stop_loss": {"value": 9, "unit": "points"}, "stop_loss_percent": 5}
    assert upgrade(OLD | {"risk": risk})["risk"] == risk


def test_a_document_of_the_newest_version_is_left_alone():
    new = {"schema_version": "1.2.0", "market": "x"}
    assert upgrade(new) is new


@pytest.mark.parametrize("version", ["2.0.0", "1.2", "", None, 1.2, ["1.0.0"], {}])
def test_an_unknown_version_is_a_problem(version):
    assert isinstance(upgrade({"schema_version": version}), Problem)


@pytest.mark.parametrize("part", ["signals", "risk", "execution", "market"])
@pytest.mark.parametrize("value", [None, 3, "x", [], [[]], {}, {"entry": 1, "direction": ["long"]}])
def test_what_a_step_does_not_understand_it_leaves(part, value):
    assert isinstance(upgrade(OLD | {part: value}), dict)
