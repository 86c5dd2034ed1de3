"""Pool entries, runs and trials as JSON documents: what ``--json`` prints and what a report is made from.

Text that a model or a candidate may have written is in there as it is; JSON keeps it harmless, and whoever shows it
elsewhere escapes it for that medium.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evolution.pool.entry import Binding, Decision, PoolEntry
    from evolution.run import Funnel, RunListing, RunRecord
    from evolution.trial import Trial

Document = dict[str, Any]


def entry_document(entry: PoolEntry, decisions: Sequence[Decision] | None = None) -> Document:
    """An entry as ``pool list --json`` gives it; with its decisions when they are passed, for ``pool show --json``."""
    document: Document = {
        "id": entry.id,
        "sha256": entry.source.sha256,
        "score": entry.score,
        "status": entry.status.value,
        "language": entry.source.language.value,
        "run": entry.run_id,
        "candidate": entry.candidate_id,
        "created": entry.created.isoformat(),
        "blind": not entry.models,
        "models": list(entry.models),
        **binding_document(entry.binding),
        "checks": [asdict(check) for check in entry.card.checks],
        "notes": [asdict(note) for note in entry.card.notes],
    }
    if decisions is not None:
        document["decisions"] = [decision_document(decision) for decision in decisions]
    return document


def decision_document(decision: Decision) -> Document:
    """One line of the decision log. It never holds a figure of the vault."""
    return {
        "number": decision.number,
        "decision": decision.kind.value,
        "by": decision.by,
        "reason": decision.reason,
        "at": decision.at.isoformat(),
        "look": decision.look,
        "sha256": decision.source_sha256,
        "hash": decision.hash,
        "previous_hash": decision.previous_hash,
        "attestation": decision.attestation,
        "public_key": decision.public_key,
        "signature": decision.signature,
    }


def binding_document(binding: Binding) -> Document:
    """What a result holds for."""
    return {
        "dataset": binding.dataset,
        "dataset_sha256": binding.dataset_sha256,
        "config_hash": binding.config_hash,
        "engine_version": binding.engine_version,
    }


def run_document(record: RunRecord, funnel: Funnel, trials: Sequence[Trial] | None = None) -> Document:
    """A run as ``runs show --json`` gives it; without trials when none are passed."""
    facts = record.facts
    document: Document = {
        "id": record.id,
        "status": record.status.value,
        "created": record.created.isoformat(),
        "finished": None if record.finished is None else record.finished.isoformat(),
        "seed": facts.seed,
        "plan": dict(facts.plan),
        "profile": facts.profile,
        "note": facts.note,
        "story": dict(record.story),
        "dataset": facts.dataset,
        "dataset_sha256": facts.dataset_sha256,
        "config_hash": facts.config_hash,
        "engine_version": facts.engine_version,
        "funnel": funnel_document(funnel),
    }
    if trials is not None:
        document["trials"] = [trial_document(trial) for trial in trials]
    return document


def listing_document(listing: RunListing) -> Document:
    """A run as one element of ``runs list --json``."""
    counts = {"trials": listing.funnel.total, "best_score": listing.best_score, "entries": listing.entries}
    return run_document(listing.record, listing.funnel) | counts


def funnel_document(funnel: Funnel) -> Document:
    """Where candidates ended, in the order in which they could fall."""
    return {
        "trials": funnel.total,
        **{outcome.value: count for outcome, count in funnel.outcomes.items()},
        "rejected_by_gate": {str(gate): count for gate, count in funnel.rejected_by_gate.items()},
    }


def trial_document(trial: Trial) -> Document:
    """A trial as an element of ``trials``; the scorecard's cells are left out."""
    candidate, card = trial.candidate, trial.scorecard
    return {
        "id": candidate.id,
        "generation": candidate.generation,
        "index": candidate.index,
        "sha256": candidate.source.sha256,
        "language": candidate.source.language.value,
        "parents": list(candidate.provenance.parents),
        "operator": candidate.provenance.operator,
        "model": candidate.provenance.model,
        "detail": candidate.provenance.detail,
        "outcome": trial.outcome.value,
        "gate": trial.gate,
        "reason": trial.reason,
        "findings": [asdict(finding) for finding in trial.findings],
        "score": card.score if card else None,
        "benchmark_score": card.benchmark_score if card else None,
        "beats_buy_and_hold": card.beats_buy_and_hold if card else None,
        "objectives": asdict(card.objectives) if card and card.objectives else None,
        "violation": card.violation if card else None,
        "vetoes": list(card.vetoes) if card else [],
        "trades": card.trades if card else None,
        "max_drawdown": card.max_drawdown if card else None,
        "behaviour": trial.behaviour,
        "recalled": trial.recalled,
        "cpu_s": trial.cpu_s,
        "wall_s": trial.wall_s,
    }
