"""Ordinary Python by competent authors: admitted, run, and trading. A false positive costs a night's idea."""

from __future__ import annotations

import pytest
from gate_corpus import benign_files

from evolution.seeds import seed_sources
from gates import Admitted, Rejected, evaluate
from runtime.cage import CageEnd
from runtime.kernel import RunConfig, RunEnd

FILES = [pytest.param(source, id=name) for name, source in (*benign_files(), *seed_sources())]


def test_there_are_enough_of_them():
    assert len(benign_files()) >= 25


@pytest.mark.parametrize("source", FILES)
def test_a_benign_file_is_admitted_and_trades(source, cage, smoke_cell):
    """It has to trade, so that the sandbox is shown to run its code and not only to load it."""
    evaluation = evaluate(source, cage, [smoke_cell], RunConfig())
    verdict = evaluation.verdict
    assert isinstance(verdict, Admitted), isinstance(verdict, Rejected) and verdict.findings
    assert evaluation.outcome.end is CageEnd.FINISHED
    report = evaluation.reports[0]
    assert (report.end, report.failure) == (RunEnd.FINISHED, None)
    assert report.fills
