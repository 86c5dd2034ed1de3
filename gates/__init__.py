"""The gates: verdicts on source text.

``open_gate_cage`` opens the cage in which candidates are loaded, ``check`` puts one source through all three gates, and
``evaluate`` also runs the admitted one over cells of bars. Gate one reads the text (``scan``), gate two loads it in a
sandbox, gate three holds it to the strategy contract and runs it dry; the last two only ever happen in the cage.
``prove`` runs an admitted one again in a cage from ``open_proof_cage``, which never held a bar, with the books in this
process, and ``same_orders`` tells whether both runs are the same.
``RULES`` and ``describe_rules`` say what is refused and why.
"""

from gates.admit import Evaluation, check, evaluate, open_gate_cage
from gates.findings import Admitted, Finding, Rejected, Verdict, as_document
from gates.proof import Difference, open_proof_cage, prove, same_orders
from gates.rules import RULES, Rule, describe_rules
from gates.scan import Scanned, scan
from gates.wire import CellJob

__all__ = [
    "RULES",
    "Admitted",
    "CellJob",
    "Difference",
    "Evaluation",
    "Finding",
    "Rejected",
    "Rule",
    "Scanned",
    "Verdict",
    "as_document",
    "check",
    "describe_rules",
    "evaluate",
    "open_gate_cage",
    "open_proof_cage",
    "prove",
    "same_orders",
    "scan",
]
