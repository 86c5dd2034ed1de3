"""The grammar that holds a small model's answer to the form of a whole strategy, in GBNF.

It knows one kind of strategy: two to three indicators of one column, an entry and an exit made of comparisons. What it
gives is a valid beginning of such a file; an answer that hits the token limit is still cut, and the gates still look at
the rest. It proves that the whole way from prompt to score works with a real model, not that the model has ideas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.llm.contract import BRIEF_INDICATORS
from evolution.llm.shape import Grammar
from runtime.indicators import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable

_SLOTS = ("first", "second", "third")
_RULES = r"""
root ::= "HYPOTHESIS: " sentence "\n\n```python\n" class "```\n"
sentence ::= word (" " word){3,14} "."
word ::= [a-z]{1,12}
class ::= "class " name "(Strategy):\n" params "\n    def on_start(self):\n" starts "\n    def on_bar(self, bar):\n" body
name ::= [A-Z] [a-z]{3,12}
params ::= "    fast = param(" period ", low=2, high=60)\n    slow = param(" period ", low=2, high=120)\n"
period ::= [1-5] [0-9]
column ::= ${columns}
indicator ::= ${indicators}
window ::= "self.fast" | "self.slow"
starts ::= ${starts}
declared ::= "self.indicator(\"" indicator "\", source=\"" column "\", timeperiod=" window ")\n"
body ::= "        if self.flat and " test ":\n            self.target(" weight ", stop_loss=" stop ")\n        elif self.long and " test ":\n            self.close()\n"
test ::= comparison (" and " comparison)?
comparison ::= value ordering value
value ::= "bar.close" | "bar.open" | series index
series ::= ${series}
index ::= "[-1]" | "[-2]"
ordering ::= " > " | " < "
weight ::= "1.0" | "0.8" | "0.6" | "0.5"
stop ::= "0.0" [3-9] | "0.1" [0-5]
"""


def strategy_grammar() -> Grammar:
    """The grammar of a whole answer, made from the same lists as the brief contract."""
    starts = "".join(f'"        self.{slot} = " declared ' for slot in _SLOTS)
    text = _RULES
    for name, choices in (
        ("columns", _choices(SOURCES)),
        ("indicators", _choices(BRIEF_INDICATORS)),
        ("series", _choices(f"self.{slot}" for slot in _SLOTS)),
        ("starts", starts.rstrip()),
    ):
        text = text.replace(f"${{{name}}}", choices)
    return Grammar(text.lstrip())


def _choices(words: Iterable[str]) -> str:
    return " | ".join(f'"{word}"' for word in words)
