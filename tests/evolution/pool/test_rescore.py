"""A promoted entry is looked at again on newer bars only, at the price of a look, and retired when it does not hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evolution.pool import DecisionKind, EntryStatus, Faded, Held, LookPolicy, PromotionRefused, SegmentFigures
from evolution.pool.looks import read_looks
from evolution.pool.promotion import has_held
from runtime.cage.outcome import CageEnd, CageOutcome
from runtime.store import reading


@pytest.fixture
def promoted(house, grown):
    """A promoted entry, and a vault that has grown since."""
    entry = house.add_entry()
    house.promote(entry)
    house.market = grown(1_900)
    return house.pool.get(entry.id)


def looks(house):
    with reading(house.engine) as session:
        return read_looks(session)


def rescore(house, entry, runner, **changes):
    wanted = {"by": "Ada", "reason": "a year later", "context": house.context(entry, runner, changes)}
    return house.pool.rescore(entry.id, **wanted | changes)


def test_it_holds_on_newer_bars_and_stays_promoted(house, promoted, scripted):
    held = rescore(house, promoted, scripted(vault=0.5))
    assert isinstance(held, Held)
    assert held.decision.kind is DecisionKind.RESCORED
    assert house.pool.get(promoted.id).status is EntryStatus.PROMOTED
    first, second = looks(house)
    assert second.alpha == 0.005
    assert {each.start for each in second.intervals} == {first.intervals[0].end}
    assert {each.end - each.start for each in second.intervals} == {timedelta(days=300)}
    assert house.pool.verify_chain().problem is None


def test_what_fades_is_retired(house, promoted, scripted):
    faded = rescore(house, promoted, scripted(vault=-0.5))
    assert isinstance(faded, Faded)
    assert faded.decision.kind is DecisionKind.FAILED_RESCORE
    assert house.pool.get(promoted.id).status is EntryStatus.RETIRED
    assert house.pool.verify_chain().problem is None


def test_without_enough_new_bars_nothing_is_looked_at(house, grown, scripted):
    entry = house.add_entry()
    house.promote(entry)
    house.market = grown(1_600 + 249)
    refused = rescore(house, house.pool.get(entry.id), scripted())
    assert refused == PromotionRefused(reason="249 bars have come since the last look at p-0001, and 250 are needed")
    assert len(looks(house)) == 1


def test_the_same_new_bars_are_not_looked_at_twice(house, promoted, scripted):
    rescore(house, promoted, scripted(vault=0.5))
    refused = rescore(house, promoted, scripted(vault=0.5))
    assert "0 bars have come since the last look at p-0001" in refused.reason


def test_only_what_is_promoted_is_scored_again(house, scripted):
    entry = house.add_entry()
    refused = rescore(house, entry, scripted())
    assert refused.reason == "entry p-0001 is candidate; only what is promoted can be scored again"


def test_the_budget_of_new_bars_is_the_budget_of_everybody(house, promoted, scripted):
    """A look is a look: what a re-score spends on bars is gone for promotions on them, and the other way round."""
    policy = LookPolicy(alpha=0.05)
    assert isinstance(rescore(house, promoted, scripted(vault=0.5), policy=policy), Held)
    other = house.add_entry()
    assert "have spent 0.05" in house.promote(other, policy=policy).reason


def test_a_stopped_look_is_taken_up(house, promoted, scripted):
    stopped = scripted(outcome=CageOutcome(end=CageEnd.KILLED, reason="was killed by a signal"))
    assert "asking again takes it up" in rescore(house, promoted, stopped).reason
    assert isinstance(rescore(house, promoted, scripted(vault=0.5)), Held)
    assert len(looks(house)) == 2


@pytest.mark.parametrize(
    ("figures", "holds"),
    [({}, True), ({"active_sharpe": 0.0}, False), ({"active_sharpe": None}, False), ({"max_drawdown": 0.31}, False)],
)
def test_holding_takes_an_edge_above_nothing_and_a_bearable_drawdown(figures, holds):
    segment = SegmentFigures(
        **{"bars": 300, "trades": 9, "max_drawdown": 0.1, "active_sharpe": 0.3, "psr": 0.6} | figures
    )
    assert has_held(segment, max_drawdown=0.30) is holds
