"""What a result is bound to on this machine."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.settings import Settings


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
