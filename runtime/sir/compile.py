"""The compiler: from the bytes of a document to a plan, in named stages.

Nothing is repaired. A stage reports all that it finds and ends the compilation; a later one would only guess about what
an earlier one refused. This module brings the indicator registry with it (TA-Lib), so the package's face does not import it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.sir.capability import judge_mode
from runtime.sir.crosscheck import cross_check
from runtime.sir.digest import document_sha256
from runtime.sir.features import resolve
from runtime.sir.planning import Stored, make_plan
from runtime.sir.problems import Problem, Stage
from runtime.sir.read import read
from runtime.sir.schema_check import as_model
from runtime.sir.upgrade import upgrade

if TYPE_CHECKING:
    from runtime.sir.document import Document
    from runtime.sir.plan import ExecutionPlan
    from runtime.sir.vocabulary import Mode

# A generation is made before the first of it is tried, so there is room for a large one; a compilation is some 20 kB.
_REMEMBERED = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The document makes sense, in the mode that was asked for."""

    document: Document
    """In the newest version."""
    plan: ExecutionPlan
    warnings: tuple[Problem, ...]

    @property
    def sha256(self) -> str:
        """Hash of the document as it was stored."""
        return self.plan.document_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It does not; everything that the first refusing stage found, in the order of the document where there is one."""

    stage: Stage
    problems: tuple[Problem, ...]

    def __post_init__(self) -> None:
        if not self.problems:
            raise ValueError("a refusal needs at least one problem")

    @property
    def reason(self) -> str:
        """One line: the stage, the first problem, and how many more there are."""
        more = f" (+{len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"{self.stage.value}: {self.problems[0].line}{more}"


Compilation = Compiled | Refused


@lru_cache(maxsize=_REMEMBERED)
def compile_once(data: bytes) -> Compilation:
    """``compile_document`` in the document's own mode, remembered: who breeds, judges and runs a document asks for the same."""
    return compile_document(data)


def compile_document(data: bytes, *, mode: Mode | None = None) -> Compilation:
    """Compile a document.

    Args:
        data: its bytes, of any supported schema version.
        mode: what it is wanted for; the document's own mode when None.
    """
    tree = read(data)
    if isinstance(tree, list):
        return Refused(stage=Stage.READ, problems=tuple(tree))
    upgraded = upgrade(tree)
    if isinstance(upgraded, Problem):
        return Refused(stage=Stage.UPGRADE, problems=(upgraded,))
    document = as_model(upgraded)
    if isinstance(document, list):
        return Refused(stage=Stage.SCHEMA, problems=tuple(document))
    intent = mode or document.execution.mode
    able = judge_mode(document, intent)
    if able.problems:
        return Refused(stage=Stage.CAPABILITY, problems=tuple(able.problems))
    resolved = resolve(document)
    checked = cross_check(document, resolved, intent)
    if checked.problems:
        return Refused(stage=Stage.CROSS_CHECK, problems=tuple(checked.problems))
    stored = Stored(document_sha256(tree), str(tree["schema_version"]))
    plan = make_plan(document, resolved.indicators, checked.rules, intent, stored)
    return Compiled(document=document, plan=plan, warnings=(*able.warnings, *checked.warnings))
