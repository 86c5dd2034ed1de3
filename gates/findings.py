"""Findings and verdicts: what a gate says about a source."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.source import StrategySource


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason to refuse a source, in words that a person or a model can act on."""

    gate: int
    """1, 2 or 3."""
    rule: str
    """Stable id of the rule, like ``import-not-allowed``."""
    line: int
    """Counted from 1; 1 where no single line is to blame."""
    column: int
    """Counted from 1; 1 where no single column is to blame."""
    message: str
    """What is wrong, naming the thing. Never text that candidate code made at run time."""
    hint: str
    """What to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The source may be run in the cage."""

    source: StrategySource
    class_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The source may not be run; all findings of the first gate that refused it, in source order."""

    source: StrategySource
    gate: int
    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        if not self.findings:
            raise ValueError("a rejection needs at least one finding")

    @property
    def reason(self) -> str:
        """One line: the gate, the first finding, where it is, and how many more there are."""
        first = self.findings[0]
        more = f" (+{len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
        return f"gate {self.gate}: {first.message} at line {first.line}{more}"


Verdict = Admitted | Rejected


def as_document(verdict: Verdict) -> dict[str, Any]:
    """The ``check --json`` document of a verdict (shape in DESIGN.md, section command line)."""
    rejected = isinstance(verdict, Rejected)
    return {
        "verdict": "rejected" if rejected else "admitted",
        "gate": verdict.gate if isinstance(verdict, Rejected) else None,
        "sha256": verdict.source.sha256,
        "language": verdict.source.language.value,
        "findings": [asdict(finding) for finding in verdict.findings] if isinstance(verdict, Rejected) else [],
    }
