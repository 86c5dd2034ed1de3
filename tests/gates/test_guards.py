"""What is woven into a candidate's code: whose self it is, and what texts show."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from statistics import NormalDist

import pytest

from gates.sandbox import compile_tree as compile_
from gates.sandbox import run_module
from runtime.model import Order, Side


def loaded(words):
    return run_module(compile_(ast.parse(words))).namespace


HELPER = """
class Helper:
    def __init__(self):
        self._past = 1
    def peek(self):
        return self._past
    def poke(self, value):
        self.memo = value
class Child(Helper):
    pass
"""


def test_a_method_takes_objects_of_the_file_and_nothing_else():
    space = loaded(HELPER)
    helper = space["Helper"]
    assert helper.peek(space["Child"]()) == 1
    for foreign in (Order(side=Side.BUY), Order, helper, lambda: 0, 1):
        with pytest.raises(TypeError, match="object of a class of the file"):
            helper.peek(foreign)
        with pytest.raises(TypeError, match="object of a class of the file"):
            helper.poke(foreign, 1)


def test_a_store_through_a_name_asks_whose_object_it_is():
    space = loaded(HELPER + "def keep(it):\n    it.memo = 1\n    return it.memo\nheld = keep(Helper()), keep(Helper)")
    assert space["held"] == (1, 1)
    for foreign in (Order, len, lambda: 0):
        with pytest.raises(TypeError, match="object of a class of the file"):
            space["keep"](foreign)


@pytest.mark.parametrize(
    "expression",
    [
        "str(f)", "repr(f)", "ascii(f)", "format(f)", "f'{f}'", "f'{f!r:>40}'", "f'{[f]}'", "'%s' % f", "'%r %s' % (f, [f])",
        "'%(a)s' % {'a': f}", "'{} {x}'.format(f, x=f)", "'{} {}'.format(*[f, f])", "str([K(), K().m, object()])",
        "''.join(map(str, [f, K()]))", "str(i for i in [])", "str(KeyError(f))", "str(print)", "str(G())",
    ],
)  # fmt: skip
def test_no_text_shows_an_address(expression):
    words = "from typing import Generic, TypeVar\ndef f(): pass\nclass K:\n def m(self): pass\nclass G(Generic[TypeVar('T')]): pass\n"
    shown = loaded(f"{words}text = {expression}")["text"]
    assert shown
    assert not re.search(r"0x[0-9a-f]+", shown)


def test_ordinary_texts_are_as_ever():
    space = loaded("""
from typing import NamedTuple
from collections import Counter
class P(NamedTuple):
    x: int
    y: float
results = ["%s %.1f" % P(1, 2.0), "%(a)d" % Counter(a=3), f"{P(1, 2.0)} {3.14159:.2f} {None}", "{:>4}".format(7), 7 % 4, str(b"a", "ascii")]
total = 7
total %= 4
kinds = [isinstance("a", str), isinstance(1, (str, float)), issubclass(str, str), list(map(str, [1])), str.upper("a")]
""")
    assert space["results"] == ["1 2.0", "3", "P(x=1, y=2.0) 3.14 None", "   7", 3, "a"]
    assert space["total"] == 3
    assert space["kinds"] == [True, False, True, ["1"], "A"]


def test_objects_of_the_file_have_the_same_order_in_sets_in_every_load():
    words = "class K:\n def __init__(self, n): self.n = n\nnoise = [object() for _ in range({})]\norder = [k.n for k in {{K(n) for n in range(50)}}]"
    assert loaded(words.format(1))["order"] == loaded(words.format(999))["order"]


def test_lines_of_failures_stay_where_they_were():
    code = "class K:\n    def f(self):\n        'doc'\n        self.x = 1\n        return 1 / 0\nfails = K().f\ndoc = K.f.__doc__"
    space = loaded(code)
    assert space["doc"] == "doc"
    with pytest.raises(ZeroDivisionError) as caught:
        space["fails"]()
    assert caught.traceback[-1].lineno + 1 == 5


TAMED = """
import ast, collections, enum, statistics, typing
from gates.sandbox import compile_tree, prepare_process, run_module
prepare_process(); prepare_process()
def load(words): return run_module(compile_tree(ast.parse(words))).namespace
def refused(words, *errors):
    try: load(words)
    except errors: return
    raise AssertionError(words)
NAMES = "from collections import ChainMap, Counter, defaultdict\\nfrom collections.abc import Generator\\nfrom dataclasses import dataclass\\nfrom enum import Enum\\nfrom typing import List, Protocol, TypedDict, NamedTuple\\nfrom statistics import mean\\nimport json\\n"
for words in ("Counter.copy(list)", "ChainMap.new_child(list, 1)", "ChainMap.parents.fget(list)", "Generator.close(1)",
              "TypedDict('T', {'a b': int})", "Enum('E', {'A': 1}, type=float)", "dataclass(Enum)", "dataclass(list)",
              "class T(TypedDict): x: int\\ndataclass(T)", "json.loads('1', cls=list)", "json.dumps(1, cls=list)",
              "class P(Protocol):\\n x: int\\nisinstance(1, P)", "class N:\\n def as_integer_ratio(self): return (1, 1)\\nmean([N()])",
              "class K: pass\\ndataclass(init=1)(K)", "print(1, sep=K)" ):
    refused(NAMES + words, TypeError, NameError)
for words in ("NamedTuple('N', [(str(i) + 'x', int) for i in range(9)])", "NamedTuple('N', [('a' + str(i), int) for i in range(300)])",
              "Enum('E', ['A', '__str__'])", "L = ['A', 1]\\ndef f():\\n L[0] = '__str__'\\n return 'B'\\nD = defaultdict(f)\\nD['C'] = 1\\nEnum('E', [L, D])"):
    refused(NAMES + words, ValueError)
first = load("from typing import List\\nshown = str(List[1.0])")
assert load("from typing import List\\nshown = str(List[1])")["shown"] == "typing.List[1]"
good = load(NAMES + "Counter([1]).copy()\\nChainMap({}).new_child()\\nE = Enum('E', 'A B')\\nN = NamedTuple('N', [('a', int)])\\n@dataclass(slots=True)\\nclass D:\\n x: int = 1\\n _y: 'int' = 2\\nmean([1, 2])\\ntext = repr(D(3)) + str(N(1)) + str(mean([1, 2]))")
assert good["text"] == "D(x=3, _y=2)N(a=1)1.5", good["text"]
"""


def test_the_tamed_library_refuses_strangers_and_still_works():
    """In a process of its own: taming is for good."""
    done = subprocess.run([sys.executable, "-c", TAMED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_text_is_no_self_though_its_class_is_of_the_file():
    """A StrEnum's member would lend a method its ``format``, which reads any attribute of anything."""
    space = loaded(
        "from enum import StrEnum, IntEnum\n"
        "class Other:\n    def format(self):\n        return 1\n"
        "class T(StrEnum):\n    A = '{0.real}'\n    def show(self, it):\n        return self.format(it)\n"
        "    def plain(self):\n        return self.value\n"
        "class N(IntEnum):\n    A = 1\n    def twice(self):\n        self._kept = 2 * self.value\n        return self._kept\n"
    )
    assert space["T"].A.plain() == "{0.real}"
    assert space["N"].A.twice() == 2
    with pytest.raises(TypeError, match="is a text"):
        space["T"].A.show(3)


@pytest.mark.parametrize(
    "held", [datetime(2020, 1, 1, tzinfo=UTC), date(2020, 1, 1), datetime, NormalDist(), NormalDist]
)
def test_nothing_but_the_clock_tells_a_time_and_nothing_draws_by_chance(held):
    space = loaded(
        "class Box:\n    def __init__(self, clock):\n        self.clock = clock\n"
        "    def now(self):\n        return 7\n    def today(self):\n        return 7\n    def samples(self):\n        return 7\n"
        "    def one(self):\n        return self.clock.now()\n    def two(self):\n        return self.now()\n"
        "def three(it):\n    return it.samples()\n"
    )
    with pytest.raises(TypeError):
        space["Box"](held).one()
    with pytest.raises(TypeError):
        space["Box"].two(held)
    with pytest.raises(TypeError):
        space["three"](held)
    own = space["Box"](None)
    assert (space["Box"](own).one(), own.two(), space["three"](own)) == (7, 7, 7)


@pytest.mark.parametrize(
    "block",
    ["except RecursionError:\n        return n", "except Exception:\n        return n", "except:\n        return n",
     "except (ValueError, RuntimeError) as error:\n        return n", "finally:\n        return n"],
)  # fmt: skip
def test_how_deep_the_stack_is_cannot_be_found_out(block):
    deep = loaded(f"def deep(n):\n    try:\n        return deep(n + 1)\n    {block}\n")["deep"]
    with pytest.raises(RecursionError):
        deep(0)


def test_how_much_memory_there_is_cannot_be_found_out():
    probe = loaded("def probe(give):\n    try:\n        return give()\n    except MemoryError:\n        return None\n")[
        "probe"
    ]
    with pytest.raises(MemoryError):
        probe(lambda: bytearray(1 << 60))


def test_other_errors_are_caught_as_ever():
    space = loaded(
        "seen = []\n"
        "def safe(f):\n    try:\n        return f()\n    except (KeyError, ZeroDivisionError) as error:\n"
        "        seen.append(str(error))\n        return None\n    finally:\n        seen.append('end')\n"
    )
    assert space["safe"](lambda: 1) == 1
    assert space["safe"](lambda: {}["a"]) is None
    assert space["seen"] == ["end", "'a'", "end"]
