from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from evolution.operators import NoVariation, Variation, canonical_hash, vary
from evolution.operators.documents import document_neighbours, meaning
from evolution.pool.perturbation import MOST_NEIGHBOURS, STEPS, neighbours_of
from evolution.seeds import document_sources, seed_sources
from runtime.model import Timeframe
from runtime.sir.compile import Compiled, compile_document
from runtime.source import Language, StrategySource

DAY = Timeframe(86_400)
SEEDS = [source for _, source in document_sources(DAY)]


def bred(count: int, seed: int) -> list[Variation]:
    """Children of children, as a search makes them."""
    rng, stock, made = random.Random(seed), list(SEEDS), []
    for _ in range(count):
        crossover = rng.random() < 0.3
        parents = rng.sample(stock, 2) if crossover else [rng.choice(stock)]
        child = vary(parents, rng, crossover=crossover)
        if isinstance(child, NoVariation):
            assert "same strategy" in child.reason or "nothing to change" in child.reason or "anything" in child.reason
            continue
        made.append(child)
        stock.append(child.source)
    return made


def test_every_child_compiles_without_asking_and_means_something_else():
    children = bred(250, 11)
    assert len(children) > 240
    for child in children:
        assert child.source.language is Language.SIR
        assert isinstance(compile_document(child.source.data), Compiled)
    operators = Counter(child.operator for child in children)
    assert set(operators) == {
        "offline/sir_comparison",
        "offline/sir_crossover",
        "offline/sir_delete",
        "offline/sir_indicator",
        "offline/sir_insert",
        "offline/sir_number",
        "offline/sir_risk",
        "offline/sir_size",
        "offline/sir_source",
    }
    assert all(child.detail for child in children)


def test_a_child_is_not_its_parent_in_other_words():
    for seed in range(60):
        child = vary([SEEDS[0]], random.Random(seed), crossover=False)
        assert isinstance(child, Variation)
        assert canonical_hash(child.source) != canonical_hash(SEEDS[0])


def test_equal_seeds_make_equal_children():
    assert [child.source for child in bred(40, 5)] == [child.source for child in bred(40, 5)]


def test_layout_and_name_make_no_other_strategy_and_any_number_does():
    tree = json.loads(SEEDS[0].data)
    same = StrategySource(json.dumps(tree | {"name": "Another"}, sort_keys=True).encode(), Language.SIR)
    assert same.sha256 != SEEDS[0].sha256
    assert canonical_hash(same) == canonical_hash(SEEDS[0])
    tree["features"][0]["params"]["timeperiod"] += 1
    assert canonical_hash(StrategySource(json.dumps(tree).encode(), Language.SIR)) != canonical_hash(same)


def test_a_crossover_takes_the_features_that_its_rules_need():
    for seed in range(40):
        child = vary(SEEDS[:2], random.Random(seed), crossover=True)
        assert isinstance(child, Variation)
        tree = json.loads(child.source.data)
        named = {feature["id"] for feature in tree["features"]}
        used = {
            side["id"]
            for groups in tree["signals"].values()
            for group in groups
            for rule in group["all"]
            for side in (rule["left"], rule["right"])
            if side["kind"] == "indicator"
        }
        assert used == named
        assert len(tree["features"]) == len(named)


def test_parents_in_two_languages_have_no_children():
    python = seed_sources()[0][1]
    for pair in ([python, SEEDS[0]], [SEEDS[0], python]):
        assert isinstance(vary(pair, random.Random(1), crossover=True), NoVariation)


def test_a_document_that_does_not_compile_has_no_children_and_no_neighbours():
    broken = StrategySource(b"{}", Language.SIR)
    assert isinstance(vary([broken], random.Random(1), crossover=False), NoVariation)
    assert neighbours_of(broken) == ()
    assert meaning(broken) == b"{}"


@pytest.mark.parametrize("source", SEEDS)
def test_neighbours_move_one_number_by_a_tenth_or_a_fifth(source):
    neighbours = neighbours_of(source)
    assert 4 <= len(neighbours) <= MOST_NEIGHBOURS
    assert len({each.source for each in neighbours}) == len(neighbours)
    original = json.loads(source.data)
    for each in neighbours:
        assert isinstance(compile_document(each.source.data), Compiled)
        path, _, numbers = each.change.partition(": ")
        before, _, after = numbers.partition(" -> ")
        holder = original
        *way, last = path.split("/")
        for key in way:
            holder = holder[int(key)] if isinstance(holder, list) else holder[key]
        assert repr(holder[last]) == before
        share = float(after) / float(before) - 1.0
        assert min(abs(share - step) for step in STEPS) < 0.1 or abs(float(after) - float(before)) == 1


def test_with_many_numbers_each_gets_fewer_steps():
    assert len(list(document_neighbours(SEEDS[2], STEPS, 4))) <= 4
