from __future__ import annotations

import errno
import os

import pytest

from runtime.cage import landlock


class OldKernel:
    """landlock_create_ruleset(2) of a kernel that knows so many rights and no more."""

    def __init__(self, abi: int, files: int, network: int, scopes: int) -> None:
        self.abi = abi
        self.known = (files, network, scopes)
        self.granted: dict[int, tuple[int, ...]] = {}

    def call(self, name: str, *arguments: int) -> int:
        assert name == "landlock_create_ruleset"
        address, size, flags = arguments
        if flags == 1:
            return self.abi
        asked = landlock._Ruleset.from_address(address)
        assert size == 24
        fields = (asked.handled_access_fs, asked.handled_access_net, asked.scoped)
        if any(field >> count for field, count in zip(fields, self.known, strict=True)):
            raise OSError(errno.EINVAL, "unknown right")
        descriptor = os.open(os.devnull, os.O_RDONLY)
        self.granted[descriptor] = fields
        return descriptor


@pytest.mark.parametrize(
    ("abi", "files", "network", "scopes"),
    [
        (1, 13, 0, 0),
        (2, 14, 0, 0),
        (3, 15, 0, 0),
        (4, 15, 2, 0),
        (5, 16, 2, 0),
        (6, 16, 2, 2),
        (7, 16, 2, 2),
        (12, 19, 4, 3),
    ],
)
def test_every_right_of_the_running_kernel_is_taken_also_those_it_learns_later(
    monkeypatch: pytest.MonkeyPatch, abi: int, files: int, network: int, scopes: int
) -> None:
    kernel = OldKernel(abi, files, network, scopes)
    monkeypatch.setattr(landlock, "call", kernel.call)
    descriptor = landlock.create_denying_ruleset()
    assert kernel.granted[descriptor] == tuple((1 << count) - 1 for count in (files, network, scopes))
    os.close(descriptor)
    for other in kernel.granted.keys() - {descriptor}:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(other)


def test_a_kernel_without_landlock_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(landlock, "call", refuse)
    assert landlock.running_abi() == 0
    with pytest.raises(OSError, match="no Landlock"):
        landlock.create_denying_ruleset()


def test_the_real_kernel_gives_a_ruleset() -> None:
    if landlock.running_abi() == 0:
        pytest.skip("this kernel has no Landlock")
    os.close(landlock.create_denying_ruleset())
