"""``trigate check FILE``: one door for both languages, the three gates for Python and the compiler for documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import CageChoice, Json
from flows.output import plain, print_json

if TYPE_CHECKING:
    from gates import Verdict
    from runtime.source import StrategySource


def check(
    file: Annotated[str, typer.Argument(help="A strategy file, or a document (.json).", metavar="FILE")],
    json: Json = False,
    cage: CageChoice = None,
) -> int:
    """Put one strategy file through the three gates, or a document through its compiler, and print what they find."""
    if Path(file).suffix.lower() == ".json":
        from flows.commands.sir import check as check_document

        return check_document(file, json=json)
    from flows.opening import gate_cage
    from gates import Admitted, as_document
    from gates import check as judge

    source = read_source(file)
    with gate_cage({}, cage) as open_cage:
        verdict = judge(source, open_cage)
    if json:
        print_json(as_document(verdict))
    else:
        print_verdict(Path(file), verdict)
    return 0 if isinstance(verdict, Admitted) else 1


def read_source(file: str) -> StrategySource:
    """The bytes of a strategy file. Bad bytes are a matter for gate one; a file that cannot be read is bad input."""
    from flows.problems import UsageProblem
    from runtime.source import StrategySource

    if not file.strip():
        raise UsageProblem(f"strategy file {file!r}: an empty name is none; give the path of a file")
    try:
        return StrategySource(Path(file).read_bytes())
    except OSError as error:
        raise UsageProblem(f"strategy file {file}: {(error.strerror or str(error)).lower()}") from error


def print_verdict(file: Path, verdict: Verdict) -> None:
    """A verdict like a linter prints it: one line per finding, with its hint."""
    from gates import Admitted

    if isinstance(verdict, Admitted):
        print(
            f"{plain(str(file))}: admitted by all three gates ({verdict.class_name}, sha256 {verdict.source.sha256[:12]})"
        )
        return
    for finding in verdict.findings:
        place = f"{plain(str(file))}:{finding.line}:{finding.column}"
        print(f"{place}: gate {finding.gate} {finding.rule}: {plain(finding.message)}")
        print(f"    {plain(finding.hint)}")
    count = len(verdict.findings)
    print(f"rejected by gate {verdict.gate}: {count} finding{'s' if count > 1 else ''}")
