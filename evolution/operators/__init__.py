"""Variation without a model: typed operators on the syntax tree of admitted strategies.

``vary`` makes one child. It draws an operator from ``OPERATORS`` (a table of small objects behind one protocol) and
accepts a child only when its structure differs from its parents' (``canonical_hash``), it has not outgrown them, and
gate one admits it. What keeps children alive is typing (``scales``: only like is compared with like), protected guards
(``conditions``) and dependency closure (``transplant``: a piece moves with everything that it needs). ``canonical_text``
is the plain form that prompts show. ``tune`` moves the numbers of a strategy by what its relatives came to; its operator
takes part only where there are some.
"""

from evolution.operators.canonical import canonical_hash, canonical_text
from evolution.operators.operator import Operator
from evolution.operators.tuning import ConstantTuning, Relative, tune
from evolution.operators.variation import OPERATORS, NoVariation, Variation, vary

NUMERIC = frozenset({"offline/param_jitter", "offline/constant_jitter", "offline/tune"})
"""Operators, as provenance shows them, whose children have the form of their first parent and other numbers."""

__all__ = [
    "NUMERIC",
    "OPERATORS",
    "ConstantTuning",
    "NoVariation",
    "Operator",
    "Relative",
    "Variation",
    "canonical_hash",
    "canonical_text",
    "tune",
    "vary",
]
