"""Commands of the user's own around each step of a plan: made by hand, approved, and executed, also in an unattended run.

Each gets the step as one JSON document on its input, nothing but PATH in its environment, and a time limit, after which it is killed with
all that it started. One *before* a step that ends with another status than 0, or not at all, keeps the step from happening; one *after* it
is told, and its status is only reported. An order that only reduces a position is executed whatever a hook says: it is told, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Command = Annotated[tuple[str, ...], Field(min_length=1)]

_WORDS = 200
# Of what a hook writes, so much is looked at.
_LOOK = 4_096


class PlanHooks(BaseModel):
    """``[paper.hooks]``: lists of commands, each a list of words, none of them read by a shell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    before_plan: tuple[Command, ...] = ()
    after_plan: tuple[Command, ...] = ()
    before_approve: tuple[Command, ...] = ()
    after_approve: tuple[Command, ...] = ()
    before_execute: tuple[Command, ...] = ()
    """Also in an unattended run, for each order that the guards let through."""
    after_execute: tuple[Command, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 10.0
    """Longest time for one command. Well below a lease, so that a run does not lose its own to a slow hook."""


def run_hooks(
    commands: Sequence[Sequence[str]], step: str, document: Mapping[str, Any], timeout_s: float = 10.0
) -> str | None:
    """Run them in order; gives what the first one that does not agree has to say, None when all do."""
    for command in commands:
        against = _against(command, json.dumps({"step": step, **document}), timeout_s)
        if against is not None:
            return against[:_WORDS]
    return None


@dataclass(frozen=True, slots=True)
class ExecutionHooks:
    """The hooks of one run. Implements ``runtime.paper.screen.StepHooks``."""

    hooks: PlanHooks

    def before(self, order: Mapping[str, Any]) -> str | None:
        """Why the order is not to be executed."""
        return run_hooks(self.hooks.before_execute, "execute", order, self.hooks.timeout_s)

    def after(self, order: Mapping[str, Any]) -> str | None:
        """Tell of it."""
        return run_hooks(self.hooks.after_execute, "executed", order, self.hooks.timeout_s)


def _against(command: Sequence[str], told: str, timeout_s: float) -> str | None:
    """What one command has against a step. Files and no pipes: what a hook leaves running holds nobody up."""
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as document:
        document.write(told.encode())
        document.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, from the configuration
                command,
                stdin=document,
                stdout=words,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"hook {command[0]!r}: {error}"
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"hook {command[0]!r} was killed after {timeout_s:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if status == 0:
            return None
        words.seek(0)
        said = " ".join(words.read(_LOOK).decode("utf-8", "backslashreplace").split())
        return f"hook {command[0]!r} ended with {status}" + (f": {said}" if said else "")
