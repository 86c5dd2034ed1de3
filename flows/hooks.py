"""Commands of the user's own around each step of a plan made by hand.

Each gets the step as one JSON document on its input and no secret in its environment. One *before* a step that ends with another status
than 0, or not at all, keeps the step from happening; one *after* it is told, and its status is only reported.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Command = Annotated[tuple[str, ...], Field(min_length=1)]

_TIMEOUT_S = 30.0
_WORDS = 200


class PlanHooks(BaseModel):
    """``[paper.hooks]``: lists of commands, each a list of words, none of them read by a shell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    before_plan: tuple[Command, ...] = ()
    after_plan: tuple[Command, ...] = ()
    before_approve: tuple[Command, ...] = ()
    after_approve: tuple[Command, ...] = ()


def run_hooks(commands: Sequence[Sequence[str]], step: str, document: Mapping[str, Any]) -> str | None:
    """Run them in order; gives what the first one that does not agree has to say, None when all do."""
    for command in commands:
        told = json.dumps({"step": step, **document})
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, from the configuration
                command,
                input=told,
                capture_output=True,
                encoding="utf-8",
                errors="backslashreplace",
                timeout=_TIMEOUT_S,
                env=environment,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return f"hook {command[0]!r}: {error}"[:_WORDS]
        if done.returncode:
            words = " ".join((done.stderr or done.stdout).split())[:_WORDS]
            return f"hook {command[0]!r} ended with {done.returncode}" + (f": {words}" if words else "")
    return None
