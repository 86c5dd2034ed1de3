"""What a person reads before answering for an entry: what it holds for, alarms first, every check, and what none of it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evolution.pool import CHECKS
from evolution.pool.card import CheckResult, EvidenceNote
from evolution.pool.sheet import sheet_lines


@pytest.fixture
def entry(house):
    return house.add_entry()


def text_of(entry):
    """The sheet as running text: where a line breaks means nothing."""
    return " ".join(" ".join(sheet_lines(entry)).split())


def test_it_says_in_full_what_a_decision_is_bound_to(entry):
    text = text_of(entry)
    assert entry.source.sha256 in text
    assert f"data {entry.binding.dataset}, {entry.binding.dataset_sha256[:16]}" in text
    assert f"engine {entry.binding.engine_version}" in text
    assert f"{entry.candidate_id} of run {entry.run_id}" in text


def test_every_check_stands_there_with_its_figure_its_limit_and_its_verdict(entry):
    text = text_of(entry)
    assert f"Checks: {len(CHECKS)} of {len(CHECKS)} passed" in text
    assert all(f"passed {check.sentence}" in text for check in entry.card.checks)
    assert "REFUSED" not in text


def test_a_check_that_is_not_made_any_more_is_still_shown(entry):
    old = CheckResult(name="moon-phase", figure=0.1, limit=0.5, passed=False, sentence="moon: 0.10; must be above 0.50")
    aged = replace(entry, card=replace(entry.card, checks=(*entry.card.checks, old)))
    assert f"Checks: {len(CHECKS)} of {len(CHECKS) + 1} passed" in text_of(aged)
    assert "REFUSED moon-phase: moon: 0.10; must be above 0.50" in text_of(aged)


def test_what_gives_pause_comes_before_what_was_passed(entry):
    notes = (
        EvidenceNote(name="calm", figure=1.0, is_alarming=False, sentence="a calm figure: 1.00"),
        EvidenceNote(name="loud", figure=0.9, is_alarming=True, sentence="an alarming figure: 0.90"),
    )
    text = text_of(replace(entry, models=("some-model",), card=replace(entry.card, notes=notes)))
    places = [
        text.index(part)
        for part in (
            "Look here first",
            "not blind: models that have read the past are in its ancestry (some-model)",
            "an alarming figure: 0.90",
            "Checks:",
            "a calm figure: 1.00",
            "What this cannot say",
        )
    ]
    assert places == sorted(places)


def test_without_alarms_it_says_so_and_without_notes_that_less_is_known(entry):
    calm = EvidenceNote(name="calm", figure=1.0, is_alarming=False, sentence="a calm figure: 1.00")
    assert "Nothing raised an alarm" in text_of(replace(entry, card=replace(entry.card, notes=(calm,))))
    assert "less is known of it" in text_of(replace(entry, card=replace(entry.card, notes=())))


def test_it_says_what_a_look_costs_and_how_often_luck_passes(entry):
    text = text_of(entry)
    assert "one costs 0.005 of an error budget of 0.05" in text
    assert "passes the last check with a probability of 20%" in text


def test_it_fits_a_terminal(entry):
    assert max(map(len, sheet_lines(entry))) <= 110
