"""Hostile mutants of ordinary files. The cage is the judge: whatever it has to forbid is a hole in a gate."""

from __future__ import annotations

import random

import pytest
from mutants import mutant

from gates import Rejected, check, scan
from gates.scan import judge_contract
from runtime.cage import CageEnd, CageLimits
from runtime.source import StrategySource

LIMITS = CageLimits(cpu_s=1, wall_s=20)
MUTANTS = 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_mutant_that_passes_the_gates_needs_the_cage_to_forbid_it(seed, cage, canary):
    rng = random.Random(f"mutants {seed}")
    ran = 0
    for _ in range(MUTANTS):
        words = mutant(rng)
        if words is None:
            continue
        source = StrategySource.from_text(words)
        scanned = scan(source)
        if isinstance(scanned, Rejected) or judge_contract(scanned) is not None:
            continue
        ran += 1
        verdict = check(source, cage, LIMITS)
        if isinstance(verdict, Rejected):
            said = verdict.findings[0].message
            assert CageEnd.FORBIDDEN.describe(LIMITS) not in said, words
            assert CageEnd.BROKEN_RESULT.describe(LIMITS) not in said, words
        assert list(canary.iterdir()) == [], words
    assert ran >= MUTANTS // 20
