"""Hostile mutants of ordinary files. The cage is the judge: whatever it has to forbid is a hole in a gate."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from mutants import mutant

from gates import CellJob, Rejected, check, evaluate, open_proof_cage, prove, same_orders, scan
from gates.scan import judge_contract
from runtime.cage import CageEnd, CageLimits
from runtime.kernel import RunConfig
from runtime.source import StrategySource

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

LIMITS = CageLimits(cpu_s=1, wall_s=20)
# Per seed. 3,000 take 70 CPU seconds, of which the two cores of a small CI machine have 35; a night of one's own may have more.
MUTANTS = int(os.environ.get("MUTANTS", "600"))


def passing(seed: str, count: int) -> Iterator[StrategySource]:
    """Those of ``count`` mutants that get past what their text decides."""
    rng = random.Random(seed)
    for words in (mutant(rng) for _ in range(count)):
        if words is not None:
            source = StrategySource.from_text(words)
            scanned = scan(source)
            if not isinstance(scanned, Rejected) and judge_contract(scanned) is None:
                yield source


@pytest.mark.parametrize("seed", range(5))
def test_no_mutant_that_passes_the_gates_needs_the_cage_to_forbid_it(seed, cage, canary):
    ran = 0
    for source in passing(f"mutants {seed}", MUTANTS):
        ran += 1
        verdict = check(source, cage, LIMITS)
        if isinstance(verdict, Rejected):
            said = verdict.findings[0].message
            assert CageEnd.FORBIDDEN.describe(LIMITS) not in said, source.data.decode()
            assert CageEnd.BROKEN_RESULT.describe(LIMITS) not in said, source.data.decode()
        assert list(canary.iterdir()) == [], source.data.decode()
    assert ran >= MUTANTS // 20


def test_a_mutant_that_is_admitted_does_the_same_in_both_hosts(cage, smoke):
    """Two ways to run a strategy that nobody has thought of: the differences are bugs of ours."""
    cells, config = [CellJob(key="smoke", start=250, stop=len(smoke), warmup=250)], RunConfig(cash=54_321.5)
    orders = 0
    with open_proof_cage() as proof_cage:
        for source in passing("both hosts", MUTANTS // 4):
            fast = evaluate(source, cage, cells, config, LIMITS)
            if isinstance(fast.verdict, Rejected):
                continue
            proof = prove(source, proof_cage, {"smoke": smoke}, cells, config, limits=LIMITS)
            assert fast.outcome.end is proof.outcome.end, source.data.decode()
            for mine, theirs in zip(fast.reports, proof.reports, strict=True):
                assert same_orders(mine, theirs) is None, source.data.decode()
                assert (mine.log, mine.failure) == (theirs.log, theirs.failure), source.data.decode()
                orders += len(mine.order_log)
    assert orders > 100
