"""Writes ``gates/RULES.md`` from the tables in ``gates``: run it after changing a rule.

python scripts/write_rules.py
"""

from __future__ import annotations

from pathlib import Path

from gates import describe_rules

RULES_FILE = Path(__file__).parents[1] / "gates" / "RULES.md"

_HEAD = """\
# What the gates refuse, and why

Made by `python scripts/write_rules.py` from `gates/rules.py` and `gates/allowed.py`; a test compares. Models that write
strategies are shown the same table. `trigate check FILE` judges a file by it.

"""


def rules_page() -> str:
    """The whole page."""
    return f"{_HEAD}{describe_rules().rstrip()}\n"


if __name__ == "__main__":
    RULES_FILE.write_text(rules_page(), encoding="utf-8")
