"""The tables: complete, consistent, and true to the things that they list."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import runpy
from pathlib import Path

import pytest

from gates import RULES, allowed, describe_rules, rules
from runtime.strategy import INJECTED, Strategy


def test_every_rule_has_an_id_of_its_own_and_words_for_people():
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.gate in {1, 2, 3}
        assert re.fullmatch(r"[a-z0-9-]+", rule.id)
        assert all((rule.what, rule.reason, rule.hint))


def test_the_description_names_every_rule_and_every_allowed_name():
    described = describe_rules()
    for rule in RULES:
        assert f"`{rule.id}`" in described
    for name in {
        *allowed.ALLOWED_BUILTINS,
        *allowed.INJECTED_NAMES,
        *(n for names in allowed.EXPORTS.values() for n in names),
    }:
        assert name in described


def test_the_page_in_the_repository_is_what_the_tables_say():
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "write_rules.py"))
    assert script["RULES_FILE"].read_text(encoding="utf-8") == script["rules_page"](), "run scripts/write_rules.py"


def test_every_rule_can_be_found_and_takes_its_own_hint():
    for rule in RULES:
        found = rules.finding(rule.id, "what happened", line=3, column=4)
        assert (found.gate, found.rule, found.line, found.column, found.hint) == (rule.gate, rule.id, 3, 4, rule.hint)


def test_the_injected_names_are_the_ones_of_the_strategy_api():
    assert set(INJECTED) == allowed.INJECTED_NAMES
    assert {name for name, value in INJECTED.items() if isinstance(value, type)} == allowed.INJECTED_CLASSES


def test_the_private_names_are_the_ones_of_the_strategy_class():
    private = {name for name in vars(Strategy) if name.startswith("_") and not name.startswith("__")}
    assert private == allowed.PRIVATE_NAMES_OF_STRATEGY


def test_the_read_only_state_is_what_the_strategy_class_has_as_properties():
    assert {name for name, value in vars(Strategy).items() if isinstance(value, property)} == allowed.READ_ONLY_STATE


@pytest.mark.parametrize("module", [*allowed.EXPORTS, *allowed.FROM_ONLY_EXPORTS])
def test_every_export_exists(module):
    exports = allowed.EXPORTS.get(module) or allowed.FROM_ONLY_EXPORTS[module]
    assert [name for name in exports if not hasattr(importlib.import_module(module), name)] == []


def test_every_builtin_of_this_python_is_either_given_or_refused():
    ours = allowed.ALLOWED_BUILTINS | allowed.FORBIDDEN_NAMES
    theirs = {name for name in dir(builtins) if not name.startswith("_")}
    assert theirs - ours == set()
    assert allowed.ALLOWED_BUILTINS - theirs == set()
    assert set() == allowed.ALLOWED_BUILTINS & allowed.FORBIDDEN_NAMES
    assert allowed.LOCAL_NAMES <= allowed.FORBIDDEN_NAMES


def test_every_node_on_the_list_exists_and_no_known_danger_is_on_it():
    assert [name for name in allowed.ALLOWED_NODES if not hasattr(ast, name)] == []
    refused = {"Match", "With", "AsyncFunctionDef", "Await", "TryStar", "Global", "Nonlocal", "TypeAlias", "TypeVar"}
    assert not refused & allowed.ALLOWED_NODES
