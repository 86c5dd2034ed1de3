"""The system text, filled in from the tables that the gates and the engine themselves go by.

Nothing here is typed twice: what a model is told about rules, names, indicators and limits is what it will be judged by.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from evolution.llm.prompt import Prompts, PromptText, prompt_text
from fitness.objectives import DEFAULT_RULES
from gates.rules import describe_rules
from runtime.indicators import REGISTRY, SOURCES
from runtime.strategy import INJECTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fitness.objectives import ScoreRules
    from runtime.indicators import IndicatorSpec

# Candlestick patterns share one shape and are many: their names alone say what a model needs.
_PATTERN_PREFIX = "CDL"
# All take one column and ``timeperiod``, and nothing else.
BRIEF_INDICATORS = ("SMA", "EMA", "WMA", "RSI", "ROC", "MOM", "MAX", "MIN", "LINEARREG_SLOPE")
"""What the brief contract and the grammar for small models know."""
EXAMPLE = "breakout"
"""The starter that the system text shows; its file is in ``evolution.seeds``."""


def standard_prompts(rules: ScoreRules = DEFAULT_RULES, *, brief: bool = False) -> Prompts:
    """The prompts that a run uses.

    Args:
        rules: The limits of the run's scorecards; a model is told the hard ones.
        brief: For small windows and slow machines: leaves out the rules and most indicators.
    """
    shared = {
        "columns": ", ".join(f'"{name}"' for name in SOURCES),
        "max_drawdown": f"{rules.max_drawdown:.0%}",
        "min_trades": str(rules.min_trades),
        "example": files("evolution.seeds").joinpath(f"{EXAMPLE}.py").read_text("utf-8").rstrip(),
    }
    if brief:
        template = prompt_text("brief")
        text = template.fill(indicators=", ".join(BRIEF_INDICATORS), **shared)
    else:
        template = prompt_text("system")
        text = template.fill(
            names=", ".join(f"`{name}`" for name in INJECTED),
            rules=describe_rules(),
            indicators=_indicators(REGISTRY.values()),
            **shared,
        )
    declared = template.version.partition(".")[0]
    version = f"{declared}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return Prompts(system=PromptText(version, text), words=frozenset({*REGISTRY, *SOURCES}))


def _indicators(specs: Iterable[IndicatorSpec]) -> str:
    """One line per function: its outputs and its parameters with their defaults."""
    outputs: dict[str, list[str]] = {}
    parameters: dict[str, str] = {}
    for spec in specs:
        names = outputs.setdefault(spec.function, [])
        if spec.name not in names:
            names.append(spec.name)
        words = ["source"] if spec.takes_source else []
        words += [f"{name}={param.default:g}" for name, param in spec.params.items()]
        parameters[spec.function] = f"({', '.join(words)})"
    lines = [
        f"- {', '.join(names)} {parameters[function]}"
        for function, names in outputs.items()
        if not function.startswith(_PATTERN_PREFIX)
    ]
    patterns = ", ".join(name for name in outputs if name.startswith(_PATTERN_PREFIX))
    return "\n".join([*lines, f"- candlestick patterns, 100, 0 or -100: {patterns}"])
