"""Corrections for many tests against the paper's example and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitness.multiplicity import Correction, corrected_p_values, haircut_sharpe, haircut_sharpes, sharpe_p_value

MONTHLY = 0.75 / math.sqrt(12)


def test_haircut_gives_the_papers_example():
    assert sharpe_p_value(MONTHLY, 240) == pytest.approx(0.00079623, abs=5e-9)
    left = haircut_sharpe(MONTHLY, 240, trials=200)
    assert left * math.sqrt(12) == pytest.approx(0.31475, abs=5e-6)
    assert haircut_sharpe(0.01, 100, trials=1000) == 0.0
    assert haircut_sharpe(-MONTHLY, 240, trials=200) == pytest.approx(-left)


def test_a_certain_p_value_leaves_the_ratio_whole():
    """Beyond what a double can hold of a tail there is nothing to take off."""
    assert haircut_sharpe(2.0, 10_000, trials=10) == 2.0


def test_corrections_of_a_small_family_worked_by_hand():
    p_values = np.array([0.01, 0.04, 0.03])
    assert corrected_p_values(p_values, Correction.BONFERRONI) == pytest.approx([0.03, 0.12, 0.09])
    assert corrected_p_values(p_values, Correction.HOLM) == pytest.approx([0.03, 0.06, 0.06])
    harmonic = 1 + 1 / 2 + 1 / 3
    assert corrected_p_values(p_values, Correction.BHY) == pytest.approx(
        [0.03 * harmonic, 0.04 * harmonic, 0.04 * harmonic]
    )


def test_no_p_values_need_no_correction_and_what_is_none_is_refused():
    assert len(corrected_p_values(np.array([]), Correction.HOLM)) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        corrected_p_values(np.array([0.1, 1.1]), Correction.HOLM)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_corrections_only_raise_keep_the_order_and_holm_is_the_milder_one(p_values):
    raw = np.array(p_values)
    by_kind = {kind: corrected_p_values(raw, kind) for kind in Correction}
    for corrected in by_kind.values():
        assert (corrected >= raw).all()
        assert (corrected <= 1).all()
        assert (np.diff(corrected[np.argsort(raw, kind="stable")]) >= 0).all()
    assert (by_kind[Correction.HOLM] <= by_kind[Correction.BONFERRONI]).all()


def test_the_haircut_of_a_family_takes_the_failures_into_account():
    alone = haircut_sharpes(np.array([MONTHLY]), 240, Correction.HOLM)
    among = haircut_sharpes(np.array([MONTHLY, *[0.0] * 199]), 240, Correction.HOLM)
    assert alone[0] == pytest.approx(MONTHLY)
    assert among[0] * math.sqrt(12) == pytest.approx(0.31475, abs=5e-6)
    assert among[1:].tolist() == [0.0] * 199
