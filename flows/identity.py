"""What a result is bound to on this machine."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from flows.settings import Settings


class Identity(NamedTuple):
    """What must be the same on two machines, or their results do not compare."""

    engine_version: str
    code: str
    """``code_digest`` of the program."""
    config_hash: str


def identity(settings: Settings) -> Identity:
    """That of this process."""
    return Identity(ENGINE_VERSION, code_digest(), config_hash(settings))


def difference(theirs: Identity, ours: Identity) -> str | None:
    """Why results of this process would not compare with another one's, and the way out; None when they do."""
    for what, other, own, way_out in (
        ("engine version", theirs.engine_version, ours.engine_version, "install the same version on both machines"),
        ("program", theirs.code, ours.code, "install the same Trigate, Python and libraries on both machines"),
        (
            "configuration",
            theirs.config_hash,
            ours.config_hash,
            "give both machines the same [run] and [limits] in trigate.toml",
        ),
    ):
        if other != own:
            return f"its {what} is {other[:12]} and is {own[:12]} here, so results would not compare; {way_out}"
    return None


def config_hash(settings: Settings) -> str:
    """Identity of what changes a trial's figures: cash, costs and limits. Sizes, endpoints and the machine do not."""
    text = settings.run.model_dump_json() + settings.limits.model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def code_digest() -> str:
    """Identity of the program that computes results: our own files, Python, and the libraries that do arithmetic.

    Processors may still differ in the last bit of a floating-point function; nothing here sees that.
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(platform.python_version().encode())
    for name in ("numpy", "scipy", "ta-lib", "deap"):
        digest.update(f"{name} {version(name)}\n".encode())
    for package in ("runtime", "gates", "fitness", "evolution", "flows"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def place(home: Path) -> str:
    """What to call this machine and home folder in the store: the same until the machine starts anew, and told to people."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    return f"{os.uname().nodename} ({home}, boot {boot[:8]})"
