"""What earlier nights found out about a strategy, judged as tonight's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.evaluate import recalled_trial

if TYPE_CHECKING:
    from evolution.bench import CellBench
    from evolution.candidate import Candidate
    from evolution.cascade import Cascade
    from evolution.ledger import TrialLedger
    from evolution.run import RunFacts
    from evolution.trial import Trial


def recalled(
    ledger: TrialLedger, facts: RunFacts, candidate: Candidate, bench: CellBench, cascade: Cascade
) -> Trial | None:
    """The trial of a candidate, taken from an earlier night's of the same strategy; None when nobody knows."""
    stored = ledger.recall(
        candidate.source,
        dataset_sha256=facts.dataset_sha256,
        config_hash=facts.config_hash,
        engine_version=facts.engine_version,
        structure=candidate.structure,
    )
    return None if stored is None else recalled_trial(candidate, stored, bench, cascade)
