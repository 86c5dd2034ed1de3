"""The boundary between our code and the person at the terminal: every way to end becomes an exit code and one sentence."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.output import plain
from flows.problems import Interruption, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

_OUTPUT_TROUBLE = frozenset({errno.ENOSPC, errno.EIO, errno.EBADF})

# Typer carries its own copy of click in some versions and uses the package in others; its public faces lead to the right one.
_ClickError: type[Exception] = next(
    each for each in typer.BadParameter.__mro__ if issubclass(each, Exception) and each.__name__ == "ClickException"
)


def guarded(command: Callable[[], Any], *, as_json: bool) -> int:
    """Run ``command``; turn whatever happens into an exit code. No traceback reaches a user.

    Exit 0 done, 1 a negative verdict, 2 wrong usage or bad input, 3 the environment, 130 interrupted.
    """
    _stand_in_for_closed_streams()
    try:
        result = command()
        sys.stdout.flush()
    except Problem as problem:
        return _say(problem.kind, str(problem), problem.exit_code, as_json=as_json)
    except _ClickError as problem:
        return _say_usage(problem, as_json=as_json)
    except (typer.Exit, SystemExit) as ending:
        return _after_exit(ending)
    except (typer.Abort, KeyboardInterrupt):
        return _say_interrupted(as_json=as_json)
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        if error.errno not in _OUTPUT_TROUBLE:
            return _say("fault", _fault_sentence(error), 3, as_json=as_json)
        _reader_gone()  # what is left would fail again when the interpreter ends
        return _say("environment", f"output: {(error.strerror or str(error)).lower()}", 3, as_json=False)
    except Exception as error:  # noqa: BLE001 - the process boundary: a fault of ours is kept and told in one sentence
        if _is_from_store(error):
            return _say("environment", str(error), 3, as_json=as_json)
        return _say("fault", _fault_sentence(error), 3, as_json=as_json)
    if result == Interruption.exit_code:  # Typer turns Ctrl-C into this result
        return _say_interrupted(as_json=as_json)
    return result if isinstance(result, int) else 0


def _is_from_store(error: Exception) -> bool:
    """Whether the database failed in the middle of a command; its sentence is for people. Imported only where it was used."""
    store = sys.modules.get("runtime.store")
    return store is not None and isinstance(error, store.StoreError)


def _after_exit(ending: typer.Exit | SystemExit) -> int:
    """Typer turns a closed pipe into a system exit with 1."""
    return _reader_gone() if isinstance(ending, SystemExit) else ending.exit_code


def _say_interrupted(*, as_json: bool) -> int:
    return _say(
        "interrupted", "stopped on request; what was stored stays stored", Interruption.exit_code, as_json=as_json
    )


def _reader_gone() -> int:
    """The reader (head, less) has what it wanted. Keep the interpreter from complaining while it shuts down."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the process ends
    return 0


def _stand_in_for_closed_streams() -> None:
    """A process may be started with its output closed; then there is nobody to tell, and nothing must break."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the process ends


def _say(kind: str, message: str, code: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": {"kind": kind, "message": message}}))
    else:
        print(f"trigate: {plain(message)}", file=sys.stderr)
    return code


def _say_usage(problem: Any, *, as_json: bool) -> int:
    if type(problem).__name__ == "NoArgsIsHelpError":
        print(problem.format_message())
        return 2
    from flows.wording import in_our_words

    context = getattr(problem, "ctx", None)
    path = context.command_path if context else "trigate"
    text = " ".join(in_our_words(problem.format_message()).split()).rstrip(".")
    joined = f"{text} See" if text.endswith("?") else f"{text}; see"
    return _say("usage", f"{joined[:1].lower()}{joined[1:]} '{path} --help'", 2, as_json=as_json)


def _fault_sentence(error: Exception) -> str:
    kept = _keep_traceback()
    where = f"; details are in {kept}" if kept else ""
    return f"internal fault ({type(error).__name__}), nothing that was stored is lost{where}"


def _keep_traceback() -> Path | None:
    """Write the traceback where a person can find it; None when even that fails."""
    try:
        folder = Path(os.environ.get("TRIGATE_HOME") or Path.home() / ".trigate") / "logs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"fault-{os.getpid()}.txt"
        file.touch(mode=0o600)
        file.write_text(traceback.format_exc(), encoding="utf-8")
    except (OSError, RuntimeError):
        return None
    return file
