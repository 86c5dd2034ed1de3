"""The plain-language reading, and what a person confirms."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runtime.sir.compile import compile_document
from runtime.sir.confirmation import Confirmation, open_assumptions, why_not_promotable
from runtime.sir.explain import assumption_lines, explain

GOLDEN = Path(__file__).parents[2] / "sir_golden" / "plans"


def plan_of(name):
    return compile_document((GOLDEN / f"{name}.json").read_bytes()).plan


def test_the_example_reads_as_it_was_asked_for():
    assert explain(plan_of("rsi_daily")) == (
        "RSI crosses: a backtest.",
        "It looks at SPY (us_equity) on bars of one day; the first 14 bars only fill its indicators.",
        "rsi is RSI (timeperiod 14).",
        "It goes in when rsi crosses above 30.",
        "It buys 1 unit at the market; the product is delivery.",
        "It goes out when rsi crosses below 70.",
        "There is no stop loss.",
        "Decisions fall at the close of a bar; orders go out for the next one.",
    )


@pytest.mark.parametrize(
    "path", [p for p in GOLDEN.glob("*.json") if not p.name.endswith(".plan.json")], ids=lambda p: p.stem
)
def test_every_golden_document_reads_as_its_text_file_says(path):
    plan = compile_document(path.read_bytes()).plan
    told = "\n".join((*explain(plan), *assumption_lines(plan))) + "\n"
    assert told == path.with_suffix(".txt").read_text()


def test_an_assumption_that_needs_a_yes_keeps_a_document_from_promotion():
    plan = plan_of("limit_trailing")
    assert [each.id for each in open_assumptions(plan, None)] == ["exit"]
    assert "nobody confirmed (exit)" in why_not_promotable(plan, None)


def test_a_confirmation_counts_for_its_own_document_only():
    plan = plan_of("limit_trailing")
    yes = Confirmation(document_sha256=plan.document_sha256, assumptions=("exit",), at=datetime(2026, 1, 1, tzinfo=UTC))
    assert why_not_promotable(plan, yes) is None
    assert why_not_promotable(plan, replace(yes, document_sha256="0" * 64)) is not None
    assert why_not_promotable(plan, replace(yes, assumptions=("costs",))) is not None


def test_a_document_without_assumptions_needs_no_confirmation():
    assert why_not_promotable(plan_of("rsi_daily"), None) is None
