from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import pytest

from runtime.cage.syscalls import ARCHITECTURES, PR_GET_DUMPABLE, call, prctl, running_architecture

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h",),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_numbers_are_those_of_the_kernels_own_tables(machine: str) -> None:
    found = next((Path(name) for name in HEADERS[machine] if Path(name).exists()), None)
    if found is None:
        pytest.skip("the kernel's headers are not installed")
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", found.read_text()))
    for name, number in ARCHITECTURES[machine].numbers.items():
        if name in defined:
            assert int(defined[name]) == number, name
        else:
            assert number > 424, f"{name} is older than these headers and not in them"


def test_a_call_by_name_reaches_the_kernel() -> None:
    assert call("getpid") == os.getpid()
    assert prctl(PR_GET_DUMPABLE) in {0, 1, 2}


def test_a_refused_call_raises_with_its_errno() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        call("write", -1, 0, 0)
    with pytest.raises(OSError, match="no number is known for no_such_call"):
        call("no_such_call")


def test_an_unknown_machine_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert running_architecture() is ARCHITECTURES.get(platform.machine())
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert running_architecture() is None
