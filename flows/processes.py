"""Which flow runs have a process on this machine: Prefect names the flow run in the environment of each process that works on one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_FLOW_RUN, _HOME = b"PREFECT__FLOW_RUN_ID=", b"TRIGATE_HOME="


class FlowProcess(NamedTuple):
    """A living process that works on a flow run."""

    pid: int
    flow_run: str
    home: str
    """The home folder in its environment; empty when it names none."""


def flow_processes() -> tuple[FlowProcess, ...]:
    """All flow processes of this user. Those of other users cannot be read, and are none of a station's."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # One that has ended and is only waiting to be asked for its status has an empty environment.
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        flow_run = _value(variables, _FLOW_RUN)
        if flow_run:
            found.append(FlowProcess(pid=int(entry.name), flow_run=flow_run, home=_value(variables, _HOME)))
    return tuple(found)


def _value(variables: list[bytes], name: bytes) -> str:
    return next((os.fsdecode(each.removeprefix(name)) for each in variables if each.startswith(name)), "")
