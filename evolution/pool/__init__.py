"""The pool: what passed every admission check, and what people decided about it.

``Pool.consider`` puts a stored trial through ``CHECKS``, stage by stage, and answers ``Entered``, ``AlreadyIn`` or
``NotAdmitted`` with the ``AdmissionCard``. ``Pool.promote`` spends one counted look at the vault on one entry
(``evolution.pool.promotion``, ``evolution.pool.looks``), ``rescore`` one more on newer bars; ``decline`` and ``retire`` need no
look. Every decision of a person (``Pool.people``) stands in a hash-chained, signed log that ``Pool.verify_chain`` follows. ``entry_document`` and its neighbours in
``evolution.pool.documents`` are the JSON shapes, and ``CageRunner`` (``open_runner``) runs sources in cages.
"""

from evolution.bench import BenchRun
from evolution.pool.admission import is_admitted
from evolution.pool.bench import admission_bars
from evolution.pool.card import AdmissionCard, CheckResult, EvidenceNote
from evolution.pool.checks import CHECKS
from evolution.pool.codes import Choice, CodeRefused, Codes, IssuedCode, Redeemed
from evolution.pool.decisions import ChainReport, DecisionError
from evolution.pool.documents import (
    decision_document,
    entry_document,
    funnel_document,
    listing_document,
    run_document,
    trial_document,
)
from evolution.pool.entry import Binding, Decision, DecisionKind, EntryStatus, PoolEntry
from evolution.pool.exhibits import AdmissionLimits
from evolution.pool.intake import AlreadyIn, Consideration, Entered, NotAdmitted
from evolution.pool.looks import LookPolicy
from evolution.pool.people import Attestation, NoAuthority, People, Person, PersonError, Signer
from evolution.pool.promotion import (
    Faded,
    Held,
    LookContext,
    LookFailed,
    Promoted,
    Promotion,
    PromotionRefused,
    Rescore,
)
from evolution.pool.runner import CageRunner, open_runner
from evolution.pool.segment import Runner, Segment, SegmentFailure, SegmentFigures
from evolution.pool.shelf import binding_of
from evolution.pool.store import Decided, NotPossible, Pool, Refusal

__all__ = [
    "CHECKS",
    "AdmissionCard",
    "AdmissionLimits",
    "AlreadyIn",
    "Attestation",
    "BenchRun",
    "Binding",
    "CageRunner",
    "ChainReport",
    "CheckResult",
    "Choice",
    "CodeRefused",
    "Codes",
    "Consideration",
    "Decided",
    "Decision",
    "DecisionError",
    "DecisionKind",
    "Entered",
    "EntryStatus",
    "EvidenceNote",
    "Faded",
    "Held",
    "IssuedCode",
    "LookContext",
    "LookFailed",
    "LookPolicy",
    "NoAuthority",
    "NotAdmitted",
    "NotPossible",
    "People",
    "Person",
    "PersonError",
    "Pool",
    "PoolEntry",
    "Promoted",
    "Promotion",
    "PromotionRefused",
    "Redeemed",
    "Refusal",
    "Rescore",
    "Runner",
    "Segment",
    "SegmentFailure",
    "SegmentFigures",
    "Signer",
    "admission_bars",
    "binding_of",
    "decision_document",
    "entry_document",
    "funnel_document",
    "is_admitted",
    "listing_document",
    "open_runner",
    "run_document",
    "trial_document",
]
