"""A row dropped, a symbol left out, one bar more: the same bars by another name refill nothing and reset no count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evolution.census import TrialCensus
from evolution.interval import intervals_of
from evolution.pool import LookFailed, LookPolicy, PromotionRefused
from runtime.market import DataSet, Vault
from runtime.market.dataset import digest
from runtime.market.split import vault_cells
from runtime.model import Timeframe

WHOLE_BUDGET = LookPolicy(alpha=0.05)


def without_row(bars, row):
    columns = ("ts", "open", "high", "low", "close", "volume")
    return replace(bars, **{name: np.delete(getattr(bars, name), row) for name in columns})


def with_bar(bars):
    """One bar more at the end, a copy of the last one a day later."""
    last = {name: getattr(bars, name)[-1] for name in ("open", "high", "low", "close", "volume")}
    return replace(
        bars,
        ts=np.append(bars.ts, bars.ts[-1] + 86_400),
        **{name: np.append(getattr(bars, name), value) for name, value in last.items()},
    )


CHANGES = {
    "a row dropped": lambda bars: {symbol: without_row(one, len(one) // 2) for symbol, one in bars.items()},
    "a symbol left out": lambda bars: {"AAA": bars["AAA"]},
    "one bar more": lambda bars: {symbol: with_bar(one) for symbol, one in bars.items()},
}
changed = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())


def other_vault(market, change):
    bars = change(market.vault.bars)
    cells = vault_cells(market.dataset.split, bars)
    return Vault(name="other", bars=bars, cells=cells, sha256=digest(bars, market.dataset.split))


def other_set(market, change):
    split = market.dataset.split
    return DataSet(
        name="other", label="synthetic", timeframe=Timeframe(86_400), split=split, bars=change(market.dataset.bars)
    )


@changed
def test_a_spent_vault_stays_spent(house, scripted, change):
    first, second = house.add_entry(), house.add_entry()
    assert isinstance(house.promote(first, scripted(vault=0.0), policy=WHOLE_BUDGET), LookFailed)
    vault = other_vault(house.market, change)
    assert vault.sha256 != house.market.vault.sha256
    runner = scripted()
    refused = house.promote(
        second,
        policy=WHOLE_BUDGET,
        open_vault=lambda: vault,
        open_runner=lambda _: house.opened(runner, house.market.vault.bars),
    )
    assert isinstance(refused, PromotionRefused)
    assert "have spent 0.05 of the error budget of 0.05" in refused.reason
    assert runner.asked == []


@changed
def test_a_source_that_validation_has_refused_is_not_read_again(house, scripted, change):
    house.consider(house.add_trial(b"# same"), scripted(validation=-0.3))
    dataset = other_set(house.market, change)
    house.start_run(dataset=dataset.name, dataset_sha256=dataset.sha256)
    runner = scripted(validation=0.9)
    refused = house.consider(house.add_trial(b"# same"), runner, dataset=dataset)
    # Either the verdict of the first read is used again (validation's own bars are the same), or the read is refused.
    names = {check.name for check in refused.card.failed}
    assert names <= {"validation-reads", "validation-psr", "validation-drawdown"}
    assert names
    assert "validation" not in {part for part, _ in runner.asked}


@changed
def test_trials_made_before_are_counted(house, scripted, change):
    for seed in range(8):
        house.add_trial(record=house.noise_record(seed))
    dataset = other_set(house.market, change)
    house.start_run(dataset=dataset.name, dataset_sha256=dataset.sha256)
    census = TrialCensus(house.engine).over(intervals_of(dataset.bars, dataset.train_cells()))
    assert (census.trials, census.distinct) == (8, 8)
