"""Stresses change one thing and leave the original alone."""

from __future__ import annotations

from fitness import STRESSES
from runtime.kernel.report import Costs, RunConfig

CONFIG = RunConfig(cash=5.0, costs=Costs(fee_bps=10, fee_per_unit=0.5, fee_minimum=1.0, slippage_bps=3), start=250)


def stressed(name):
    (stress,) = [each for each in STRESSES if each.name == name]
    return stress.apply(CONFIG)


def test_double_costs_double_every_cost_and_nothing_else():
    costs = Costs(fee_bps=20, fee_per_unit=1.0, fee_minimum=2.0, slippage_bps=6)
    assert stressed("double-costs") == RunConfig(cash=5.0, costs=costs, start=250)


def test_a_late_run_differs_in_its_delay_only():
    assert stressed("one-bar-late") == RunConfig(cash=5.0, costs=CONFIG.costs, start=250, decision_delay=1)


def test_names_are_unique():
    assert len({stress.name for stress in STRESSES}) == len(STRESSES)
