"""The search: which strategies to try next, what became of each one, and who deserves a person's time.

A night goes round ``evolution.search.Search``: ``ask`` gives proposals, ``evolution.breed`` (or ``evolution.llm``) fills each with a
``Candidate``, ``evolution.evaluate.run_trial`` turns it into a ``Trial`` through gates, cage and score, and ``tell`` picks the survivors
(``evolution.selection``, the only module with DEAP). Every trial, refused ones too, goes into ``evolution.ledger``; survivors that pass the
admission checks go into ``evolution.pool``. The starting strategies are in ``evolution.seeds``, the offline operators in
``evolution.operators``.

This face holds the values that everybody shares and stays light; the rest is imported from the modules named above.
"""

from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.trial import Trial, TrialOutcome

__all__ = ["Candidate", "Provenance", "Trial", "TrialOutcome", "candidate_id"]
