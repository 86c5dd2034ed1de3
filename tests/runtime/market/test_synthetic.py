"""The planted edge is there, in every segment, and the same on every machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from runtime.market import check_quality
from runtime.market.split import make_split, train_cells, validation_cells, vault_cells
from runtime.market.synthetic import SYMBOLS, planted_edge

FEE = 0.001


@pytest.fixture(scope="module")
def bars():
    return planted_edge()


class Run(NamedTuple):
    returns: np.ndarray
    exposure: np.ndarray


def sharpe(returns):
    return returns.mean() / returns.std(ddof=1) * np.sqrt(261)


def drawdown(returns):
    equity = np.cumprod(np.concatenate(([1.0], 1 + returns)))
    return float((1 - equity / np.maximum.accumulate(equity)).max())


def above_average(bars, *, fast, slow):
    def average(window):
        out = np.full(len(bars), np.nan)
        out[window - 1 :] = sliding_window_view(bars.close, window).mean(axis=1)
        return out

    return average(fast) > average(slow)


def momentum(bars, *, window):
    wanted = np.zeros(len(bars), dtype=bool)
    wanted[window:] = bars.close[window:] > bars.close[:-window]
    return wanted


def breakout(bars, *, enter, leave):
    upper = np.concatenate((np.full(enter, np.inf), sliding_window_view(bars.high, enter).max(axis=1)[:-1]))
    lower = np.concatenate((np.full(leave, -np.inf), sliding_window_view(bars.low, leave).min(axis=1)[:-1]))
    wanted = np.zeros(len(bars), dtype=bool)
    holding = False
    for row in range(len(bars)):
        holding = bars.close[row] >= lower[row] if holding else bars.close[row] > upper[row]
        wanted[row] = holding
    return wanted


def run(bars, wanted):
    """All equity in or out at the open after the decision; 10 bps of the notional a side."""
    held = np.concatenate(([False], wanted[:-1]))
    before = np.concatenate(([False], held[:-1]))
    previous_close = np.concatenate(([bars.open[0]], bars.close[:-1]))
    growth = np.where(before, bars.open / previous_close, 1.0) * np.where(held, bars.close / bars.open, 1.0)
    return Run(growth * np.where(held != before, 1 - FEE, 1.0) - 1, held.astype(float))


RULES = {
    "average of 50": lambda one: above_average(one, fast=1, slow=50),
    "average 5 above 20": lambda one: above_average(one, fast=5, slow=20),
    "breakout 20 and 10": lambda one: breakout(one, enter=20, leave=10),
    "momentum 60": lambda one: momentum(one, window=60),
    "breakout 55 and 20": lambda one: breakout(one, enter=55, leave=20),
}
# As written in the module's docstring: train, validation, vault, deepest drawdown.
FIGURES = {
    "average of 50": (2.03, 2.33, 2.14, 0.22),
    "average 5 above 20": (1.80, 2.53, 1.64, 0.22),
    "breakout 20 and 10": (1.77, 2.39, 2.24, 0.20),
    "momentum 60": (1.69, 1.76, 1.98, 0.19),
    "breakout 55 and 20": (1.22, 2.26, 1.73, 0.20),
}


def segments(bars):
    split = make_split(bars)
    train = train_cells(split, bars)[:4]
    validation, vault = validation_cells(split, bars)[0], vault_cells(split, bars)[0]
    return train, [(train[0].start, train[-1].stop), (validation.start, validation.stop), (vault.start, vault.stop)]


@pytest.mark.parametrize("rule", RULES)
def test_a_simple_trend_rule_earns_the_documented_active_sharpe_in_every_segment(bars, rule):
    runs = {symbol: run(one, RULES[rule](one)) for symbol, one in bars.items()}
    folds, spans = segments(bars)
    measured = []
    for start, stop in spans:
        active = []
        for symbol, one in bars.items():
            market = one.close[start:stop] / one.close[start - 1 : stop - 1] - 1
            exposure = runs[symbol].exposure[start:stop].mean()
            active.append(runs[symbol].returns[start:stop] - exposure * market)
        measured.append(sharpe(np.mean(active, axis=0)))
    cells = [(fold.start, fold.stop) for fold in folds] + spans[1:]
    deepest = max(drawdown(one.returns[start:stop]) for one in runs.values() for start, stop in cells)
    assert (*measured, deepest) == pytest.approx(FIGURES[rule], abs=0.006)
    assert deepest < 0.3


def test_buy_and_hold_earns_nothing_special_and_falls_deeply(bars):
    _, spans = segments(bars)
    figures = []
    for start, stop in spans:
        market = [one.close[start:stop] / one.close[start - 1 : stop - 1] - 1 for one in bars.values()]
        figures.append(sharpe(np.mean(market, axis=0)))
        assert all(abs(sharpe(one)) < 0.8 for one in market)
    assert figures == pytest.approx([-0.42, 0.27, -0.02], abs=0.006)
    assert max(drawdown(np.diff(one.close) / one.close[:-1]) for one in bars.values()) == pytest.approx(0.89, abs=0.006)


def test_the_bars_are_the_same_to_the_last_bit(bars):
    """Registered splits, stored trials and the figures above all hang on it."""
    assert {symbol: one.sha256[:16] for symbol, one in bars.items()} == {
        "PLANT-A": "63bce0b20da752c2",
        "PLANT-B": "2d6d7c478bf761d9",
        "PLANT-C": "cf32a4677f3df675",
    }


def test_the_bars_are_clean_weekdays_and_the_vault_is_over_three_and_a_half_years(bars):
    assert tuple(bars) == SYMBOLS
    split = make_split(bars)
    for one in bars.values():
        assert check_quality(one).errors == check_quality(one).warnings == ()
        assert set(((one.ts // 86_400 + 3) % 7).tolist()) == set(range(5))
    for cell in vault_cells(split, bars):
        assert cell.stop - cell.start > 3.5 * 261
