"""``trigate sir``: the closed strategy language at the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import ConfigFile, Json
from flows.listing import Listing
from flows.output import plain, print_json

if TYPE_CHECKING:
    from runtime.sir.compile import Compilation, Compiled, Refused
    from runtime.sir.vocabulary import Mode

app = typer.Typer(cls=Listing, no_args_is_help=True, help="Strategies as JSON documents of a closed language.")

DocumentFile = Annotated[str, typer.Argument(metavar="FILE", help="A document (JSON).")]
ModeName = Annotated[
    str | None, typer.Option("--mode", metavar="MODE", help="backtest, paper or screen (default: the document's own).")
]


@app.command("check")
def check(file: DocumentFile, mode: ModeName = None, json: Json = False) -> int:
    """Compile a document and print what is wrong with it, one line each."""
    compiled = compile_file(file, mode)
    if json:
        print_json(verdict_document(compiled))
    else:
        print_compilation(file, compiled)
    return _code(compiled)


@app.command("compile")
def compile_(file: DocumentFile, mode: ModeName = None, json: Json = False) -> int:
    """Print the plan that a document comes to."""
    from json import dumps

    from runtime.sir.compile import Compiled
    from runtime.sir.plan import as_document

    compiled = compile_file(file, mode)
    if not isinstance(compiled, Compiled):
        return _refuse(file, compiled, as_json=json)
    if json:
        print_json(verdict_document(compiled) | {"plan": as_document(compiled.plan)})
    else:
        _warn(compiled)
        print(dumps(as_document(compiled.plan), indent=2))
    return 0


@app.command("explain")
def explain(
    file: DocumentFile,
    mode: ModeName = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Say yes to the assumptions that need it; kept for this very document.")
    ] = False,
    json: Json = False,
) -> int:
    """Say in plain words what a document does, and what its author assumed."""
    from flows.confirmations import stored_confirmation
    from flows.settings import home_folder
    from runtime.sir.compile import Compiled
    from runtime.sir.confirmation import open_assumptions
    from runtime.sir.explain import assumption_lines
    from runtime.sir.explain import explain as read_out

    compiled = compile_file(file, mode)
    if not isinstance(compiled, Compiled):
        return _refuse(file, compiled, as_json=json)
    plan, home = compiled.plan, home_folder()
    if confirm:
        _confirm(home, compiled)
    still = [each.id for each in open_assumptions(plan, stored_confirmation(home, plan.document_sha256))]
    if json:
        told = {"explanation": read_out(plan), "assumptions": assumption_lines(plan), "open_assumptions": still}
        print_json(verdict_document(compiled) | told)
        return 0
    _warn(compiled)
    for line in read_out(plan):
        print(plain(line))
    if plan.assumptions:
        print("The author assumed:")
    for line in assumption_lines(plan):
        print(f"  - {plain(line)}")
    print(f"document {plan.document_sha256}")
    if still:
        print(f"not confirmed yet: {', '.join(still)}; read them, then add --confirm")
    elif any(each.needs_confirmation for each in plan.assumptions):
        print("all assumptions are confirmed")
    return 0


@app.command("hash")
def hash_(file: DocumentFile, json: Json = False) -> int:
    """Print the identity of a document. It need not compile; it must be one readable JSON object."""
    from runtime.sir.digest import document_sha256
    from runtime.sir.read import read

    tree = read(read_document(file))
    if isinstance(tree, list):
        from runtime.sir.compile import Refused
        from runtime.sir.problems import Stage

        return _refuse(file, Refused(stage=Stage.READ, problems=tuple(tree)), as_json=json)
    digest = document_sha256(tree)
    if json:
        print_json({"sha256": digest})
    else:
        print(digest)
    return 0


@app.command("schema")
def schema(json: Json = False) -> int:
    """Print the JSON Schema of documents, fit for constrained decoding."""
    from json import dumps

    from runtime.sir.json_schema import json_schema

    if json:
        print_json(json_schema())
    else:
        print(dumps(json_schema(), indent=2))
    return 0


@app.command("write")
def write(
    wish: Annotated[str, typer.Argument(metavar="WISH", help="What the strategy should do, in plain words.")],
    llm: Annotated[
        str | None, typer.Option("--llm", metavar="PROFILE", help="Which model (default: the only one).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it (default: print it).")
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Have a model write a document for a wish; read what it does before you use it."""
    from json import loads

    from evolution.llm.wish import NotWritten, write_document
    from runtime.sir.explain import assumption_lines
    from runtime.sir.explain import explain as read_out

    _check_wish(wish, out)
    with _open_model(llm, config) as client:
        try:
            written = write_document(wish, client)
        except KeyboardInterrupt:
            from flows.problems import Interruption

            raise Interruption("stopped; nothing was written") from None
    if isinstance(written, NotWritten):
        _say_failure(written.reason, as_json=json)
        return 1
    if out is not None:
        _keep(out, written.data)
    plan = written.compiled.plan
    told = {"explanation": read_out(plan), "assumptions": assumption_lines(plan)}
    if json:
        print_json(verdict_document(written.compiled) | {"document": loads(written.data)} | told)
        return 0
    if out is None:
        print(written.data.decode(), end="")
    for line in (*told["explanation"], *told["assumptions"]):
        typer.echo(plain(line), err=out is None)
    return 0


def compile_file(file: str, mode: str | None = None) -> Compilation:
    """Compile the document in a file; a file that cannot be read is bad input."""
    from runtime.sir.compile import compile_document

    return compile_document(read_document(file), mode=_mode(mode))


def read_document(file: str) -> bytes:
    """The bytes of a document, no more than are needed to see that there are too many."""
    from flows.problems import UsageProblem
    from runtime.sir.read import MAX_BYTES

    if not file.strip():
        raise UsageProblem(f"document {file!r}: an empty name is none; give the path of a file")
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageProblem(f"document {file}: {reason.lower()}") from error


def verdict_document(compiled: Compilation) -> dict[str, Any]:
    """What ``--json`` says about a document. The first keys are those of a Python file's verdict."""
    from runtime.sir.compile import Compiled

    if isinstance(compiled, Compiled):
        head: dict[str, Any] = {
            "verdict": "admitted",
            "gate": None,
            "stage": None,
            "sha256": compiled.sha256,
            "language": "sir",
        }
        return head | {"findings": [], "warnings": [each.as_document() for each in compiled.warnings]}
    head = {"verdict": "rejected", "gate": None, "stage": compiled.stage.value, "sha256": None, "language": "sir"}
    return head | {"findings": [each.as_document() for each in compiled.problems], "warnings": []}


def print_compilation(file: str, compiled: Compilation) -> None:
    """A verdict like a linter prints it: one line per problem."""
    from runtime.sir.compile import Compiled

    if isinstance(compiled, Compiled):
        for each in compiled.warnings:
            print(f"{plain(file)}: warning: {plain(each.line)}")
        print(f"{plain(file)}: admitted, {compiled.plan.intent.value} (sha256 {compiled.sha256[:12]})")
        return
    for each in compiled.problems:
        print(f"{plain(file)}: {plain(each.line)}")
    count = len(compiled.problems)
    print(f"refused at the stage {compiled.stage.value}: {count} problem{'s' if count > 1 else ''}")


def _mode(name: str | None) -> Mode | None:
    from flows.problems import UsageProblem
    from runtime.sir.vocabulary import Mode

    if name is None:
        return None
    try:
        return Mode(name)
    except ValueError:
        raise UsageProblem(f"--mode {name}: one of {', '.join(each.value for each in Mode)}") from None


def _code(compiled: Compilation) -> int:
    from runtime.sir.compile import Compiled

    return 0 if isinstance(compiled, Compiled) else 1


def _refuse(file: str, refused: Refused, *, as_json: bool) -> int:
    if as_json:
        print_json(verdict_document(refused))
    else:
        print_compilation(file, refused)
    return 1


def _warn(compiled: Compiled) -> None:
    for each in compiled.warnings:
        typer.echo(f"warning: {plain(each.line)}", err=True)


def _confirm(home: Path, compiled: Compiled) -> None:
    from datetime import UTC, datetime

    from flows.confirmations import store_confirmation
    from runtime.sir.confirmation import Confirmation

    ids = tuple(each.id for each in compiled.plan.assumptions if each.needs_confirmation)
    store_confirmation(home, Confirmation(document_sha256=compiled.sha256, assumptions=ids, at=datetime.now(UTC)))


def _check_wish(wish: str, out: Path | None) -> None:
    from evolution.llm.wish import MAX_WISH
    from flows.problems import UsageProblem

    if not wish.strip() or len(wish) > MAX_WISH:
        raise UsageProblem(f"wish of {len(wish)} characters: say what the strategy should do, in at most {MAX_WISH}")
    if out is not None and out.exists():
        raise UsageProblem(f"--out {out}: it is there already; name a new file")


def _keep(out: Path, data: bytes) -> None:
    from flows.problems import UsageProblem

    try:
        with out.open("xb") as stream:
            stream.write(data)
    except OSError as error:
        raise UsageProblem(f"--out {out}: {(error.strerror or str(error)).lower()}") from error


def _open_model(name: str | None, config: Path | None) -> Any:
    import os

    from evolution.llm import KeyMissingError, open_client
    from flows.problems import UsageProblem
    from flows.settings import home_folder, load_settings

    settings = load_settings(config, home_folder())
    if name is None and len(settings.llm) != 1:
        known = ", ".join(sorted(settings.llm))
        raise UsageProblem(
            f"several models are set up ({known}): choose one with --llm"
            if known
            else "no model is set up: add a section [llm.NAME] to trigate.toml, or write the document by hand after 'trigate sir schema'"
        )
    try:
        return open_client(settings.profile(name or next(iter(settings.llm))), os.environ)
    except KeyMissingError as error:
        raise UsageProblem(str(error)) from None


def _say_failure(reason: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"verdict": "not written", "reason": reason})
    else:
        print(f"no document: {plain(reason)}")
