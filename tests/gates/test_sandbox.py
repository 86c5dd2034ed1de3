"""Gate two: what a candidate finds around it. Runs our own text in this process; hostile text only ever runs in the cage."""

from __future__ import annotations

import ast
import builtins
import collections
import statistics

import pytest

from gates import allowed
from gates.guards import GUARDED_BUILTINS, build_class
from gates.library import namedtuple
from gates.sandbox import Watch, compile_tree, make_builtins, make_importer, run_module, shared_values
from runtime.model import Order, Side
from runtime.strategy import INJECTED, Strategy, crossed_above


def loaded(words):
    return run_module(compile_tree(ast.parse(words)))


def test_a_load_has_exactly_the_injected_names_and_its_own():
    namespace = loaded("x = 1").namespace
    assert set(namespace) == {"__name__", "__builtins__", "x", *INJECTED}


def test_builtins_are_the_listed_ones_and_each_load_has_its_own():
    first, second = loaded("").namespace["__builtins__"], loaded("").namespace["__builtins__"]
    assert set(first) == allowed.ALLOWED_BUILTINS | set(GUARDED_BUILTINS) | {"__build_class__", "__import__"}
    assert first is not second
    first["sum"] = None
    assert second["sum"] is sum
    assert builtins.sum is sum


def test_module_level_names_work_inside_methods_and_helpers():
    namespace = loaded(
        "LIMIT = 3\ndef helper(): return LIMIT\nclass S(Strategy):\n def on_bar(self, bar): return helper()"
    ).namespace
    assert namespace["S"].on_bar(None, None) == 3


def test_each_load_has_a_base_class_of_its_own():
    first, second = loaded("").namespace["Strategy"], loaded("").namespace["Strategy"]
    assert first is not second
    assert issubclass(first, Strategy)
    first.poison = 1
    assert not hasattr(second, "poison")
    assert not hasattr(Strategy, "poison")


@pytest.mark.parametrize("module", list(allowed.EXPORTS))
def test_a_module_is_a_proxy_with_its_exports_and_nothing_else(module):
    proxy = make_importer()(module)
    assert set(vars(proxy)) == allowed.EXPORTS[module]
    assert not hasattr(proxy, "__name__")
    with pytest.raises(AttributeError, match="read-only"):
        proxy.anything = 1
    with pytest.raises(AttributeError, match="read-only"):
        del proxy.anything


@pytest.mark.parametrize(
    "words",
    [
        "import os",
        "import sys",
        "from . import x",
        "import collections.abc",
        "import json.decoder",
        "from json import codecs",
        "from collections import abc",
        "from typing import sys",
        "from math import __loader__",
        "import __future__",
        "from importlib import import_module",
    ],
)
def test_imports_beyond_the_list_fail(words):
    with pytest.raises(ImportError):
        loaded(words)


def test_the_allowed_imports_really_work():
    namespace = loaded("""
from __future__ import annotations
import math, statistics as st
from collections import deque, namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
import json
P = namedtuple("P", "x y")
class E(Enum):
    A = 1
class N(NamedTuple):
    a: int = 1
results = (math.sqrt(4), st.mean([1, 3]), deque([1], maxlen=1), P(1, 2).y, E.A.value, N().a, json.loads(json.dumps([1])))
""").namespace
    assert namespace["results"] == (2.0, 2, collections.deque([1]), 2, 1, 1, [1])


def test_refused_builtins_are_not_there():
    for name in ("open", "eval", "exec", "getattr", "type", "__loader__", "globals", "BaseException"):
        with pytest.raises(NameError):
            loaded(name)


def test_what_is_printed_before_there_is_a_log_is_kept_and_capped():
    assert loaded("print('a', 1, sep='-'); print()").printed == ["a-1", ""]
    many = loaded("for i in range(1000): print('x' * 1000)").printed
    assert (len(many), len(many[0])) == (50, 500)
    with pytest.raises(TypeError):
        loaded("print('a', file=1)")


def test_named_tuples_are_made_from_checked_words():
    assert namedtuple("P", "a, b")(1, 2).b == 2
    assert namedtuple("P", ["a", "b"], defaults=[5])(1).b == 5
    for typename, names in (
        ("P", "a __b__"),
        ("P", ["a;b"]),
        ("P;", "a"),
        ("P", ["é"]),
        ("P", [1]),
        ("P", "_a"),
        ("P", ["a"] * 999),
    ):
        with pytest.raises(ValueError, match="generated class"):
            namedtuple(typename, names)


def test_the_watch_sees_attributes_of_everything_shared():
    watch = Watch()
    assert not watch.sees_change()
    isinstance([], collections.abc.Sequence)
    for shared in (Order, crossed_above, Side.BUY, collections.Counter, statistics.mean):
        shared.seen = 1
        assert watch.sees_change()
        del shared.seen
    assert not watch.sees_change()
    assert Strategy in shared_values()


def test_make_builtins_takes_the_real_thing_for_everything_that_is_not_guarded():
    made = make_builtins("p", "i")
    assert (made.pop("print"), made.pop("__import__")) == ("p", "i")
    assert made.pop("__build_class__") is build_class
    for name in GUARDED_BUILTINS:
        assert made.pop(name) is GUARDED_BUILTINS[name]
    assert all(value is getattr(builtins, name) for name, value in made.items())
