"""What a run knows that helps with the next child: attempts on the same lineage, and the rules that refuse most.

Made from complete generations only, so that it does not depend on which sibling was quicker, and a replay says the same.
What a candidate said or raised is no part of it; what a model wrote about its change is, as data.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolution.llm.fallback import idea
from evolution.trial import TrialOutcome
from gates.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evolution.trial import Trial

_IDEA_LIMIT = 160
MOST_ATTEMPTS = 5
MOST_RULES = 5
_WHAT = {rule.id: rule.what for rule in RULES}
_ENDS = {
    TrialOutcome.REJECTED: "the gates refused it",
    TrialOutcome.KILLED: "it took too much time or memory",
    TrialOutcome.FAILED: "it raised while it ran",
    TrialOutcome.DUPLICATE: "it traded the same as an earlier one",
    TrialOutcome.STOPPED: "its run was ended early",
    TrialOutcome.VETOED: "it broke a hard limit",
    TrialOutcome.SCORED: "it ran",
}

Entry = dict[str, str | int]
"""One line of data in a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The complete generations of a run, as far as prompts may speak of them."""

    trials: tuple[Trial, ...] = ()
    """In order of candidate id; places that stayed empty are left out."""

    def attempts(self, parents: Sequence[Trial]) -> list[Entry]:
        """The last attempts on the lineage of ``parents``, oldest first: their ancestors' children, and their own.

        Each says what was tried, how it ended and, where both sides have one, by how much the seed score changed.
        """
        by_id = {trial.candidate.id: trial for trial in self.trials}
        family = _ancestry([parent.candidate.id for parent in parents], by_id)
        tried = [trial for trial in self.trials if family.intersection(trial.candidate.provenance.parents)]
        return [_attempt(trial, by_id) for trial in tried[-MOST_ATTEMPTS:]]

    def refusals(self) -> list[Entry]:
        """The rules that refused most candidates, most frequent first, in the gates' own words."""
        refused = [trial for trial in self.trials if trial.outcome is TrialOutcome.REJECTED]
        counts = Counter(rule for trial in refused for rule in {finding.rule for finding in trial.findings})
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [{"rule": rule, "refused": count, "what": _WHAT.get(rule, "")} for rule, count in ranked[:MOST_RULES]]


NO_BACKGROUND = Background()


def background(trials: Iterable[Trial]) -> Background:
    """What is known from trials of complete generations, in whatever order they come."""
    told = [trial for trial in trials if trial.outcome is not TrialOutcome.BARREN]
    return Background(trials=tuple(sorted(told, key=lambda trial: trial.candidate.id)))


def _ancestry(ids: Iterable[str], by_id: dict[str, Trial]) -> set[str]:
    family: set[str] = set()
    frontier = set(ids)
    while frontier:
        family |= frontier
        known = [by_id[each] for each in frontier if each in by_id]
        frontier = {parent for trial in known for parent in trial.candidate.provenance.parents} - family
    return family


def _attempt(trial: Trial, by_id: dict[str, Trial]) -> Entry:
    provenance = trial.candidate.provenance
    entry: Entry = {
        "made_by": provenance.operator,
        "idea": idea(provenance, _IDEA_LIMIT),
        "end": _ENDS[trial.outcome],
    }
    if trial.findings:
        entry["rule"] = trial.findings[0].rule
    before = [by_id[parent] for parent in provenance.parents if parent in by_id]
    after, best = score_of(trial), max((score for score in map(score_of, before) if score is not None), default=None)
    if after is not None and best is not None:
        entry["score_change"] = f"{after - best:+.2f}"
    return entry


def score_of(trial: Trial) -> float | None:
    """Seed score on train; None for what did not run or has none."""
    return None if trial.scorecard is None else trial.scorecard.score
