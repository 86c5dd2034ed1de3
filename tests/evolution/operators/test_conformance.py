"""What every operator promises, on parents of every kind. A new operator in ``OPERATORS`` is tested by being there;
``ConstantTuning``, which takes part only where there is evidence, is tested without any and with some."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.operators import OPERATORS, ConstantTuning, Relative, canonical_hash
from evolution.operators.anatomy import clone, dissect
from evolution.operators.canonical import shape
from evolution.operators.variation import MAX_DETAIL, Strain, apply, read
from evolution.seeds import seed_sources
from fitness.card import Objectives
from gates.scan import Scanned, judge_contract, scan

if TYPE_CHECKING:
    from evolution.operators import Operator
    from runtime.source import StrategySource


def evidence() -> tuple[Relative, ...]:
    """Seeds with made-up results; each tells something to children of its own form."""
    return tuple(
        Relative(source=source, objectives=Objectives(sharpe=0.1, calmar=0.1, turnover=9.0), violation=0.0)
        for _, source in seed_sources()
    )


every_operator = pytest.mark.parametrize(
    "operator",
    [*(one.operator for one in OPERATORS), ConstantTuning(), ConstantTuning(evidence())],
    ids=lambda one: f"{one.name}-{len(getattr(one, 'relatives', ()))}" if one.name == "tune" else one.name,
)


@pytest.fixture(scope="session")
def stock(seeds: list[StrategySource], free_form: list[StrategySource]) -> list[tuple[StrategySource, Strain]]:
    """Every parent that the gates read without a finding."""
    pairs = [(source, read(source)) for source in [*seeds, *free_form]]
    known = [(source, strain) for source, strain in pairs if strain is not None]
    assert len(known) > 25
    return known


@every_operator
@settings(max_examples=40)
@given(data=st.data())
def test_a_child_is_one_admissible_strategy_unlike_its_parents(
    operator: Operator, stock: list[tuple[StrategySource, Strain]], data: st.DataObject
) -> None:
    """Or there is none; nothing is ever raised."""
    parents = [data.draw(st.sampled_from(stock)) for _ in range(operator.arity)]
    seed = data.draw(st.integers(0, 2**32))
    child = apply(operator, [strain for _, strain in parents], random.Random(seed))
    if child is None:
        return
    scanned = scan(child.source)
    assert isinstance(scanned, Scanned)
    assert judge_contract(scanned) is None
    assert scanned.class_name == parents[0][1].class_name
    assert canonical_hash(child.source) not in {canonical_hash(source) for source, _ in parents}
    assert child.operator == f"offline/{operator.name}"
    assert 0 < len(child.detail) <= MAX_DETAIL
    assert "\n" not in child.detail


@every_operator
def test_seeds_offer_something_to_every_operator(operator: Operator, seeds: list[StrategySource]) -> None:
    strains = [strain for strain in map(read, seeds) if strain is not None]
    children = []
    for number in range(24):
        rng = random.Random(number)
        children.append(apply(operator, rng.sample(strains, operator.arity), rng))
    assert sum(child is not None for child in children) >= 6


@every_operator
def test_the_same_state_of_the_generator_gives_the_same_child(operator: Operator, seeds: list[StrategySource]) -> None:
    strains = [strain for strain in map(read, seeds) if strain is not None]
    for number in range(4):
        first, second = (
            apply(operator, strains[number : number + operator.arity], random.Random(number)) for _ in "ab"
        )
        assert first == second


@every_operator
def test_operators_work_on_copies(operator: Operator, stock: list[tuple[StrategySource, Strain]]) -> None:
    strains = [strain for _, strain in stock[: operator.arity]]
    before = [shape(strain.tree) for strain in strains]
    for number in range(5):
        apply(operator, strains, random.Random(number))
    assert [shape(strain.tree) for strain in strains] == before


@every_operator
def test_a_class_that_does_nothing_has_nothing_to_vary(operator: Operator) -> None:
    tree = ast.parse("class S(Strategy):\n    def on_bar(self, bar):\n        pass\n")
    views = [dissect(clone(tree), "S") for _ in range(operator.arity)]
    parents = [view for view in views if view is not None]
    assert operator.vary(parents, random.Random(1)) is None


def test_names_are_unique_and_weights_positive() -> None:
    names = [one.operator.name for one in OPERATORS]
    assert len(set(names)) == len(names)
    assert all(one.weight > 0 for one in OPERATORS)
    assert {one.operator.arity for one in OPERATORS} == {1, 2}
