"""One call makes one child, or says why there is none."""

from __future__ import annotations

import random
import sys

import pytest

from evolution.operators import NoVariation, Variation, canonical_hash, vary
from evolution.operators.variation import MAX_NODES, read
from gates.admit import judge_text
from gates.scan import scan
from runtime.source import Language, StrategySource


@pytest.mark.parametrize("crossover", [False, True])
def test_a_child_is_new_and_names_its_operator(seeds: list[StrategySource], crossover: bool) -> None:
    hashes = {canonical_hash(seed) for seed in seeds}
    for number in range(20):
        rng = random.Random(number)
        child = vary(rng.sample(seeds, 2), rng, crossover=crossover)
        assert isinstance(child, Variation)
        assert canonical_hash(child.source) not in hashes
        assert (child.operator in {"offline/linked_crossover", "offline/signal_graft"}) == crossover


def test_the_child_depends_on_the_arguments_alone(seeds: list[StrategySource]) -> None:
    random.seed(1)
    first = vary(seeds[:2], random.Random(5), crossover=True)
    random.seed(2)
    assert vary(seeds[:2], random.Random(5), crossover=True) == first


def test_a_pinned_child_stays_the_same(seeds: list[StrategySource]) -> None:
    """A seeded run must breed the same children tomorrow; a change here breaks the replay of stored runs."""
    child = vary([seeds[1]], random.Random(12), crossover=False)
    assert isinstance(child, Variation)
    assert (child.operator, child.detail) == ("offline/condition_insert", "entry and bar.close < self.lower[-2]")


def test_comments_and_docstrings_do_not_travel(seeds: list[StrategySource]) -> None:
    """They described the parent."""
    child = vary([seeds[3]], random.Random(1), crossover=False)
    assert isinstance(child, Variation)
    assert "After a quiet stretch" in seeds[3].text
    assert "After a quiet stretch" not in child.source.text


NO_CHILD = {
    "no parents": ([], False, "1 parents are needed, 0 given"),
    "one parent for two": ([b"class S(Strategy):\n def on_bar(self, bar):\n  self.buy()\n"], True, "2 parents"),
    "a refused parent": ([b"import os\n"], False, "the gates admit"),
    "a text without strategy": ([b"x = 1\n"], False, "the gates admit"),
    "broken syntax": ([b"class S(Strategy:\n"], False, "the gates admit"),
    "no text at all": ([b"\xff\xfe"], False, "the gates admit"),
    "twice the same": ([b"class S(Strategy):\n def on_bar(self, bar):\n  self.buy()\n"] * 2, True, "the same strategy"),
    "nothing to vary": ([b"class S(Strategy):\n def on_bar(self, bar):\n  pass\n"], False, "no operator found"),
}


@pytest.mark.parametrize(("texts", "crossover", "reason"), NO_CHILD.values(), ids=NO_CHILD)
def test_no_child_has_a_reason(texts: list[bytes], crossover: bool, reason: str) -> None:
    result = vary([StrategySource(text) for text in texts], random.Random(1), crossover=crossover)
    assert isinstance(result, NoVariation)
    assert reason in result.reason


def test_documents_in_another_language_are_not_for_these_operators() -> None:
    assert isinstance(vary([StrategySource(b"{}", Language.SIR)], random.Random(1), crossover=False), NoVariation)


def test_parts_that_the_parent_never_used_do_not_make_a_difference() -> None:
    """Otherwise dropping them, or jittering a dead parameter, would count as a child."""
    dead = StrategySource(
        b"class S(Strategy):\n dead = param(3, low=1, high=9)\n def on_bar(self, bar):\n  x = bar.close > 3.5\n  self.close()\n"
    )
    assert isinstance(vary([dead], random.Random(1), crossover=False), NoVariation)


def test_lineages_stay_small_and_alive(seeds: list[StrategySource]) -> None:
    """Eight chains of twenty steps, each step bred from the last child."""
    sizes = []
    hashes = [canonical_hash(seed) for seed in seeds]
    for number in range(8):
        rng = random.Random(number)
        current = seeds[number % len(seeds)]
        for _ in range(20):
            here = canonical_hash(current)
            others = [seed for seed, known in zip(seeds, hashes, strict=True) if known != here]
            child = vary([current, rng.choice(others)], rng, crossover=rng.random() < 0.3)
            assert isinstance(child, Variation)
            current = child.source
        strain = read(current)
        assert strain is not None
        sizes.append(strain.nodes)
    assert max(sizes) <= MAX_NODES
    parents = [strain.nodes for strain in map(read, seeds) if strain is not None]
    assert sum(sizes) / len(sizes) < 2.0 * sum(parents) / len(parents)


def test_a_parent_over_the_cap_may_shrink_but_not_grow() -> None:
    lines = "\n".join(f"        self.log(str(bar.close * {n}.5 + bar.open))" for n in range(90))
    text = f"class S(Strategy):\n    def on_bar(self, bar):\n{lines}\n        if self.flat and bar.close > bar.open and bar.low > 3.5:\n            self.buy(stop_loss=0.1)\n"
    parent = StrategySource.from_text(text)
    strain = read(parent)
    assert strain is not None
    assert strain.nodes > MAX_NODES
    for number in range(6):
        child = vary([parent], random.Random(number), crossover=False)
        assert isinstance(child, Variation)
        grown = read(child.source)
        assert grown is not None
        assert grown.nodes <= strain.nodes


def test_the_text_of_a_child_is_read_once_until_it_has_been_tried(
    seeds: list[StrategySource], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole generation is made before its first is tried, and the newest few trees are forgotten by then."""
    read_texts: list[StrategySource] = []

    def counted(source: StrategySource) -> object:
        read_texts.append(source)
        return scan(source)

    monkeypatch.setattr(sys.modules["gates.scan"], "scan", counted)  # the package has the function by that name
    rng = random.Random(11)
    children = [
        made.source for _ in range(40) if isinstance(made := vary([rng.choice(seeds)], rng, crossover=False), Variation)
    ]
    assert len(children) > 20
    read_texts.clear()
    assert all(isinstance(judge_text(child), str) for child in children)
    assert read_texts == []
