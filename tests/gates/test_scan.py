"""Gate one as a whole: it never raises, says everything at once, and points at the right place."""

from __future__ import annotations

import cProfile
import gc
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from gate_corpus import benign_files, hostile_files, text
from hypothesis import given
from hypothesis import strategies as st

from gates import Rejected, Scanned, scan
from gates.allowed import MAX_FINDINGS, MAX_NODES, MAX_TREE_DEPTH
from runtime.source import Language, StrategySource

EVERYTHING = [*(each.source.data for each in hostile_files()), *(source.data for _, source in benign_files())]


@given(st.binary(max_size=400))
def test_any_bytes_get_a_verdict(data):
    assert isinstance(scan(StrategySource(data)), Scanned | Rejected)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_any_text_gets_a_verdict(words):
    assert isinstance(scan(StrategySource.from_text(words)), Scanned | Rejected)


@given(st.randoms(use_true_random=False), st.sampled_from(EVERYTHING))
def test_any_damage_to_any_known_file_gets_a_verdict(rng, data):
    damaged = bytearray(data[:20_000])
    for _ in range(rng.randint(1, 8)):
        start = rng.randrange(len(damaged) + 1)
        piece = rng.choice(EVERYTHING)
        at = rng.randrange(len(piece) + 1)
        damaged[start : start + rng.randint(0, 30)] = piece[at : at + rng.randint(0, 60)]
    assert isinstance(scan(StrategySource(bytes(damaged))), Scanned | Rejected)


def test_lone_surrogates_are_refused_not_raised():
    verdict = scan(StrategySource.from_text("x = '\ud800'"))
    assert [found.rule for found in verdict.findings] == ["not-utf8"]


def test_five_megabytes_are_refused_without_being_read():
    source = StrategySource(b"x = (" * 1_000_000)
    verdict, calls = counting_calls(source)
    assert [found.rule for found in verdict.findings] == ["source-too-large"]
    assert calls < 100


def test_the_empty_source_passes_gate_one_without_a_class():
    scanned = scan(StrategySource(b""))
    assert isinstance(scanned, Scanned)
    assert scanned.class_name == ""


def test_an_admitted_source_has_a_tree_and_the_name_of_its_class():
    scanned = scan(text("pass"))
    assert isinstance(scanned, Scanned)
    assert scanned.class_name == "S"
    assert scanned.tree.body[0].name == "S"


def test_a_document_is_for_another_door():
    verdict = scan(StrategySource(b"{}", Language.SIR))
    assert [found.rule for found in verdict.findings] == ["language"]


def test_all_findings_come_at_once_in_source_order():
    source = StrategySource(b"""import os
class S(Strategy):
    def on_bar(self, bar):
        x = eval("1"); y = self.__class__
        bar.close = 1
        try:
            pass
        except:
            pass
""")
    found = [(each.line, each.column, each.rule) for each in scan(source).findings]
    assert found == [
        (1, 8, "import-not-allowed"),
        (4, 13, "forbidden-name"),
        (4, 33, "dunder-name"),
        (5, 13, "foreign-store"),
        (8, 9, "bare-except"),
    ]


def test_findings_of_bytes_words_and_tree_come_together_where_the_text_can_be_read():
    source = StrategySource("# coding: utf-8\nimport os  # \u200b\nä = 1\n".encode())
    assert [(each.line, each.rule) for each in scan(source).findings] == [
        (1, "encoding-cookie"),
        (2, "import-not-allowed"),
        (2, "forbidden-character"),
        (3, "non-ascii-name"),
    ]


def test_columns_count_characters_not_bytes():
    (found,) = scan(StrategySource("x = 'äöü', eval\n".encode())).findings
    assert (found.line, found.column) == (1, 12)


def test_a_flood_of_findings_is_cut():
    verdict = scan(StrategySource(b"eval\n" * 1000))
    assert len(verdict.findings) == MAX_FINDINGS


def test_messages_are_short_single_lines_of_our_own():
    for source in EVERYTHING:
        verdict = scan(StrategySource(source))
        if isinstance(verdict, Rejected):
            for found in verdict.findings:
                assert found.message.isprintable()
                assert len(found.message) < 300
                assert found.message.isascii()


def test_too_many_nodes_and_too_deep_trees_are_refused():
    many = StrategySource(b"x = 1\n" * (MAX_NODES // 4))
    assert [found.rule for found in scan(many).findings] == ["too-many-nodes"]
    # Within every cap on chains and brackets, and still too deep together.
    deep = StrategySource(b"x = " + b"a+(" * 9 + b"1" + b"+1" * 39 + b")" * 9)
    assert "too-many-nodes" not in [found.rule for found in scan(deep).findings]
    deeper = StrategySource(b"x = " + b"--------(" * 14 + b"1" + b")" * 14)
    assert [found.rule for found in scan(deeper).findings] == ["too-many-nodes"]
    assert MAX_TREE_DEPTH < 100


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("def f(:\n", "syntax-error"),
        ("class A[T]: pass\n", "syntax-error"),
        ("type X = int\n", "syntax-error"),
        ("x = t'{1}'\n", "syntax-error"),
        ("if x:\npass\n", "syntax-error"),
        ("if 1:\n\tx = 1\n        y = 1\n", "syntax-error"),
        ("print 'a'\n", "syntax-error"),
    ],
)
def test_what_is_not_python_3_11_is_a_finding(words, rule):
    assert rule in [found.rule for found in scan(StrategySource.from_text(words)).findings]


def _worst_cases():
    """Texts within every cap that are meant to make a rule slow: many names, bindings, decorators, attributes."""
    yield "\n".join(f"u{i}=v{i}" for i in range(2900))
    yield "".join(f"@x{i}\ndef f{i}(): pass\n" for i in range(1000))
    yield "\n".join(f"self._a{i}.b{i}=c{i}" for i in range(1200))
    yield "\n".join("é" for _ in range(5900))
    yield "class K: pass\n" + "\n".join(f"class K{i}(K): pass" for i in range(1500))
    yield "\n".join("from math import e" for _ in range(2000))
    yield "x = '" + "'\\\n'".join("{}" * 150 for _ in range(200)) + "'.format()"


@pytest.mark.parametrize("words", list(_worst_cases()))
def test_no_rule_is_quadratic_in_what_the_caps_allow(words):
    """Calls, not seconds: a quadratic rule made a hundred million."""
    _, calls = counting_calls(StrategySource.from_text(words))
    assert calls < 3_000_000


def counting_calls(source):
    """The verdict, and how many function calls it took."""
    profile = cProfile.Profile()
    verdict = profile.runcall(scan, source)
    return verdict, sum(entry.callcount for entry in profile.getstats())


def test_a_seeded_shuffle_of_lines_gets_a_verdict():
    rng = random.Random(7)
    lines = b"\n".join(EVERYTHING).split(b"\n")
    for _ in range(100):
        assert isinstance(scan(StrategySource(b"\n".join(rng.sample(lines, 40)))), Scanned | Rejected)


def test_several_threads_may_scan_at_once():
    """CPython 3.11 builds trees with one counter for all threads; a switch while it builds one used to end in a SystemError."""
    text = "class S(Strategy):\n    def on_bar(self, bar):\n        pass\n" + "".join(
        f"    def f{number}(self, a={number}):\n        return [x + {number} for x in range(a) if x > {number}]\n"
        for number in range(40)
    )

    class Garbage:
        """Collected while a tree is built, it gives the interpreter a reason to change threads."""

        def __del__(self):
            sum(range(300))

    def scan_often():
        for _ in range(25):
            garbage = Garbage()
            garbage.itself = garbage
            assert isinstance(scan(StrategySource.from_text(text)), Scanned)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    try:
        with ThreadPoolExecutor(4) as pool:
            for ended in [pool.submit(scan_often) for _ in range(4)]:
                ended.result()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
