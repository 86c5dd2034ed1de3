"""The rules about the tree, one small text per case: what is refused, by which rule, and what stays allowed."""

from __future__ import annotations

import pytest
from gate_corpus import text

from gates import Rejected, scan


def rules_of(source):
    verdict = scan(source)
    return [found.rule for found in verdict.findings] if isinstance(verdict, Rejected) else []


REFUSED = [
    # names
    ("dunder-name", "__builtins__"), ("dunder-name", "x = self.__class__"), ("dunder-name", "f(__x__=1)\ndef f(**k): pass"),
    ("dunder-name", "def __getattr__(n): pass"), ("dunder-name", "lambda __x: 1"), ("dunder-name", "__x = 1"),
    ("dunder-name", "class __K: pass"), ("dunder-name", "self.__init__()"), ("dunder-name", "x = super().__new__"),
    ("dunder-name", "super(S, self).__init__()"), ("dunder-name", "x = super().__init__"), ("dunder-name", "x = self._x_"),
    ("forbidden-name", "eval"), ("forbidden-name", "x = getattr"), ("forbidden-name", "type(self)"),
    ("forbidden-name", "compile = 1"), ("forbidden-name", "raise SystemExit"), ("forbidden-name", "x = open"),
    ("forbidden-name", "def f(eval): pass"), ("forbidden-name", "class K:\n    x = id"),
    ("unknown-name", "numpy"), ("unknown-name", "self.log(uuid4())"), ("unknown-name", "x = _secret"),
    ("rebinding", "super = 1"), ("rebinding", "class K:\n    Order = 1"), ("rebinding", "class K:\n    _desk = 1"),
    # attributes
    ("private-attribute", "x = bar._fields_of"), ("private-attribute", "x = self._nowhere"), ("private-attribute", "x = self._desk"),
    ("private-attribute", "self._desk = 1"), ("private-attribute", "x = super()._x"), ("private-attribute", "self._a = 1\nx = self.a._a"),
    ("forbidden-attribute", "x = bar.mro"), ("forbidden-attribute", "x = self.gi_frame"), ("forbidden-attribute", "bar.f_x"),
    ("forbidden-attribute", "'{}'.format"), ("forbidden-attribute", "'{0.x}'.format(1)"), ("forbidden-attribute", "x = 'a'.encode()"),
    ("forbidden-attribute", "'{'.format(1)"), ("forbidden-attribute", "'{__class__}'.format(1)"),
    ("not-repeatable", "bar.ts.now()"), ("not-repeatable", "self.now()"), ("not-repeatable", "self.x.clock.now()\nself.x = 1"),
    ("not-repeatable", "import statistics\nstatistics.NormalDist().samples(3)"), ("foreign-store", "self.cash = 1"),
    ("bus-attribute", "self.bus.publish('a', 1)"), ("bus-attribute", "bus = 1\nx = bus.listeners"),
    # stores
    ("foreign-store", "bar.close = 1"), ("foreign-store", "self.clock = 1"), ("foreign-store", "self.position.x = 1\nself.x = 1"),
    ("foreign-store", "Order.x = 1\nself.x = 1"), ("foreign-store", "S.x = 1\nself.x = 1"), ("foreign-store", "self.nobodys['a'] = 1"),
    ("foreign-store", "self.history(2)[0] = 1"), ("foreign-store", "del self.x"), ("foreign-store", "for bar.close in (1,): pass"),
    ("foreign-store", "[1 for self.clock.x in (1,)]\nself.x = 1"), ("foreign-store", "bar.close += 1"),
    ("foreign-store", "(self.a, bar.close) = 1, 2"), ("foreign-store", "Order['x'] = 1"), ("foreign-store", "bar.close: int = 1"),
    ("injected-as-value", "x = Order"), ("injected-as-value", "[Bar]"), ("injected-as-value", "print(Side)"),
    ("injected-as-value", "lambda: Fill"), ("injected-as-value", "{Bar: 1}"), ("injected-as-value", "x = y = Strategy"),
    ("injected-as-value", "isinstance(Bar, 1)"), ("injected-as-value", "return Order"),
    # classes, functions, syntax
    ("class-base", "class K(str): pass"), ("class-base", "class K(Order): pass"), ("class-base", "class K(print): pass"),
    ("class-base", "class K(list()): pass"), ("class-keyword", "class K(metaclass=int): pass"), ("class-keyword", "class K(**{}): pass"),
    ("decorator", "@print\ndef f(): pass"), ("decorator", "@property()\ndef f(): pass"), ("decorator", "@(lambda f: f)\ndef f(): pass"),
    ("bare-except", "try: pass\nexcept: pass"),
    ("syntax-not-allowed", "with self.x: pass"), ("syntax-not-allowed", "match bar:\n    case _: pass"),
    ("syntax-not-allowed", "global x"), ("syntax-not-allowed", "x = 1 @ 2"), ("syntax-not-allowed", "async def f(): pass"),
    ("syntax-not-allowed", "try: pass\nexcept* ValueError: pass"),
    ("string-literal", "x = '" + "a" * 300 + "' \\\n '" + "b" * 300 + "' \\\n '" + "c" * 300 + "' \\\n '" + "d" * 300 + "'"),
    ("string-literal", "x = '" + "\\n" * 25 + "'"),
    # imports
    ("import-not-allowed", "import os"), ("import-not-allowed", "from os import path"), ("import-not-allowed", "import os.path as p"),
    ("import-form", "from . import x"), ("import-form", "import json.decoder"), ("import-form", "from json.decoder import x"),
    ("module-attribute", "from json import codecs"), ("import-form", "class K:\n    import math"),
    ("misleading-alias", "import math as os"), ("misleading-alias", "from math import e as json"),
    ("module-attribute", "import math\nmath.floor_"), ("module-as-value", "import math\nx = math"),
    ("module-as-value", "import math\nprint(math)"), ("rebinding", "import math\nmath = 1"), ("rebinding", "import math as m, json as m"),
    ("rebinding", "import math as Order"), ("forbidden-name", "import math as eval"), ("module-attribute", "from __future__ import division"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "body"), REFUSED)
def test_the_rule_refuses(rule, body):
    assert rule in rules_of(text(body))


ALLOWED = [
    "self.x = 1\nself._y = self.x",
    "bar._replace(close=1)._asdict()",
    "open, type, id, input, exit = 1, 2, 3, 4, 5\nreturn open + type + id + input + exit",
    "sum = max = 1\nreturn sum + max",
    "x = [open for open in (1,)]",
    "param = 1\nreturn param",
    "isinstance(bar, (Bar, Fill)) or isinstance(bar, Bar)",
    "def f(a: Bar, b: list[Bar], c: Bar | None = None) -> dict[str, Order]: return a",
    "x: Bar = bar\ny = Side.BUY is Side.SELL\nz = Timeframe.parse('1d')",
    "from typing import List, Optional\nx: Optional[List[Bar]] = None",
    "self.rows = {}\nself.rows[1] = 2\nself.rows[1] += 1\ndel self.rows[1]",
    "d = {}\nd['a'], d['b'] = 1, 2",
    "class K:\n    peak = 0\nk = K()\nk.peak = 1\nself.k = k\nself.k.peak += 1",
    "for n in range(3): pass\nelse: pass\nwhile False: break",
    "try:\n    1 / 0\nexcept (ValueError, ZeroDivisionError) as error:\n    raise RuntimeError('x') from error\nfinally:\n    pass",
    "'{:.2f} {name} {0!r:>{1}}'.format(1, 2, name=3)",
    "'%s %(a)s' % {'a': 1}",
    "self.clock.now()",
    "class K:\n    def __init__(self):\n        self.samples = []\n        self.position = 0\nreturn K().samples",
    "self.bus.subscribe('a', print)",
    "self.super = self.eval_ = self.open = self.id = self.type = 1",
    "self.cancel(id=1)",
    "import math as m, statistics as st\nm.sqrt(st.mean([1]))",
    "from math import sqrt as root\nroot(1)",
    "from dataclasses import dataclass as dc\n@dc(frozen=True)\nclass K:\n    x: int = 1",
    "class E(Exception): pass\nclass F(E): pass",
    "class D(dict): pass",
    "x = lambda *a, **k: (a, k)\nx(*[1], **{'b': 2})",
    "x = (i for i in ())",
    "x = [*range(3)]; y = {**{}}; z = x[::2]; w = (n := 5)",
    "'''" + "long text\n" * 400 + "'''",
    "super().on_fill(None)",
]


@pytest.mark.parametrize("body", ALLOWED)
def test_ordinary_python_stays_allowed(body):
    assert rules_of(text(body)) == []


def test_only_the_two_constructors_may_be_defined_as_dunders():
    assert rules_of(text("pass", inside="def __init__(self, **k):\n    super().__init__(**k)")) == []
    assert rules_of(text("pass", above="class K:\n    def __post_init__(self): pass")) == []
    assert rules_of(text("pass", above="class K:\n    def __len__(self): return 1")) == ["dunder-name"]
    assert rules_of(text("pass", above="def __init__(self): pass")) == ["dunder-name"]


def test_self_is_trusted_only_as_the_first_parameter_of_a_method():
    trusted = "def peek(self):\n    self._x = 1\n    return [self._x for i in (1,) if (lambda: self._x)()]"
    assert rules_of(text("pass", inside=trusted)) == []
    for inside in (
        "def peek(self):\n    self = self.clock\n    self._x = 1",
        "@staticmethod\ndef peek(self):\n    self._x = 1",
        "@classmethod\ndef peek(self):\n    self._x = 1",
        "def peek(this, self):\n    self._x = 1",
        "peek = lambda self: self._x",
        "def peek(me):\n    def inner(self): return self._x\n    return inner",
    ):
        assert {"private-attribute", "foreign-store"} & set(rules_of(text("self._x = 0", inside=inside))), inside


def test_a_misspelt_name_gets_a_suggestion():
    (found,) = scan(text("if crossed_abov(1, 2): pass")).findings
    assert found.hint == "did you mean crossed_above?"


def test_a_private_attribute_belongs_to_whoever_sets_it():
    assert rules_of(text("return self._helper()", inside="def _helper(self): return 1")) == []
    assert rules_of(text("return self._limit", inside="_limit = 5")) == []


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("import itertools", "write a loop"),
        ("from functools import lru_cache", "dict on self"),
        ("from abc import ABC", "NotImplementedError"),
        ("import numpy as np", "plain numbers"),
        ('if __name__ == "__main__": pass', "the engine loads the strategy class"),
    ],
)
def test_the_usual_habits_get_one_finding_that_says_what_to_do_instead(source, hint):
    (found,) = scan(text("pass", above=source)).findings
    assert hint in found.hint


def test_a_base_must_be_a_class_of_the_file_wherever_its_name_is_used():
    for above in ("class B: pass\nB = float\nclass K(B): pass", "class B: pass\ndef f(B):\n    class K(B): pass"):
        assert "class-base" in rules_of(text("pass", above=above))
    assert rules_of(text("pass", above="class B: pass\nclass K(B): pass")) == []


@pytest.mark.parametrize(
    "test",
    [
        "a is None",
        "a is not True",
        "a is ...",
        "a is Side.BUY",
        "a is MISSING",
        "a is K.m",
        "None is a",
        "a is None is not b",
    ],
)
def test_is_asks_for_what_exists_once(test):
    above = f"MISSING = object()\nclass K:\n    m = 1\ndef f(a, b):\n    return {test}"
    assert rules_of(text("pass", above=above)) == []


@pytest.mark.parametrize(
    "test", ["a is b", "a is not b.c", "a is b[0]", "a is 1", "a is 'x'", "a is b is None", "a is f(b)"]
)
def test_is_between_values_is_refused(test):
    assert rules_of(text("pass", above=f"def f(a, b):\n    return {test}")) == ["identity"]
