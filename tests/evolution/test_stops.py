"""Budgets by themselves and together; the first that has a reason ends the search."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from evolution.stops import CandidateBudget, CpuBudget, Deadline, Progress, first_reason

NOW = datetime(2026, 12, 1, 5, 0, tzinfo=UTC)
PROGRESS = Progress(candidates=48, next_candidates=24, cpu_s=30.0, now=NOW, next_s=600.0, admission_s=1_800.0)
HALF_SIX = Deadline(NOW + timedelta(minutes=90))


def test_a_generation_that_does_not_fit_whole_is_not_begun():
    assert CandidateBudget(72).reason(PROGRESS) is None
    assert "would pass 71" in CandidateBudget(71).reason(PROGRESS)


def test_processor_time_is_counted_when_it_is_spent():
    assert CpuBudget(30.5).reason(PROGRESS) is None
    assert "30 s" in CpuBudget(30.0).reason(PROGRESS)


def test_a_deadline_leaves_time_for_another_generation_and_for_admission():
    assert HALF_SIX.reason(PROGRESS) is None
    late = replace(PROGRESS, now=NOW + timedelta(minutes=51))
    assert "06:30 is 2340 s away" in HALF_SIX.reason(late)
    assert HALF_SIX.reason(replace(late, admission_s=60.0)) is None
    assert HALF_SIX.reason(replace(PROGRESS, now=NOW + timedelta(hours=2))) == "06:30 has come"


def test_in_the_middle_of_a_generation_only_admission_is_kept_free():
    assert not HALF_SIX.is_over(NOW + timedelta(minutes=59), 1_800.0)
    assert HALF_SIX.is_over(NOW + timedelta(minutes=60), 1_800.0)


def test_budgets_combine():
    assert first_reason((), PROGRESS) is None
    assert first_reason((HALF_SIX, CandidateBudget(1_000)), PROGRESS) is None
    assert "would pass 50" in first_reason((HALF_SIX, CandidateBudget(50), CpuBudget(1.0)), PROGRESS)
