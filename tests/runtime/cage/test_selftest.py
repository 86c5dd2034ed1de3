from __future__ import annotations

import os
import platform
import sys

import pytest
from cage_arena import ENTRY, Arena

from runtime.cage import CageMode, CageUnavailable, open_cage, probe_layers, selftest
from runtime.cage.layers import BONUS, REQUIRED, Layer


def test_every_layer_is_tried_and_every_required_one_holds_here() -> None:
    probes = {probe.name: probe for probe in probe_layers()}
    assert list(probes) == [layer.value for layer in Layer]
    for layer in Layer:
        probe = probes[layer.value]
        assert probe.required is (layer not in BONUS)
        assert probe.probe
        assert probe.active or not probe.required, probe
    assert "reading /dev/null: EACCES" in probes["landlock"].probe
    assert probes["uid"].active, "nobody runs these tests with uid 0 left in the child"


NOTICED = {
    Layer.LANDLOCK: "reading /dev/null: got through",
    Layer.SECCOMP: "",
    Layer.MEMORY: "64 MiB: got them",
    Layer.CPU: "CPU limit",
    Layer.DESCRIPTORS: "open descriptors",
    Layer.NEW_DESCRIPTORS: "a new pipe: got through",
    Layer.PARENT_DEATH: "signal 0 when",
}


@pytest.mark.parametrize(("layer", "finding"), NOTICED.items(), ids=str)
def test_a_layer_that_is_gone_is_noticed_and_named(layer: Layer, finding: str) -> None:
    gap = selftest.find_gap(broken=frozenset({layer}))
    assert gap is not None
    assert gap[0] == layer.value
    assert finding in gap[1]


def test_without_no_new_privileges_nothing_else_goes_up() -> None:
    gap = selftest.find_gap(broken=frozenset({Layer.NO_NEW_PRIVS}))
    assert gap is not None
    assert gap[0] == "seccomp"


def test_a_bonus_that_is_gone_does_not_count() -> None:
    assert selftest.find_gap(broken=BONUS) is None
    assert not BONUS & REQUIRED[CageMode.FULL]


@pytest.fixture
def gap_in_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_known_gap", lambda: selftest.find_gap(broken=frozenset({Layer.LANDLOCK})))


@pytest.mark.usefixtures("gap_in_landlock")
def test_a_full_cage_refuses_and_says_which_layer_and_how_to_go_on() -> None:
    with pytest.raises(CageUnavailable, match="landlock") as refused:
        open_cage(ENTRY)
    assert refused.value.layer == "landlock"
    assert "trigate evolve --cage reduced" in str(refused.value)
    assert 'cage = "reduced" in trigate.toml' in str(refused.value)


@pytest.mark.usefixtures("gap_in_landlock")
def test_a_reduced_cage_opens_and_uses_what_there_is() -> None:
    with open_cage(ENTRY, mode=CageMode.REDUCED) as cage:
        arena = Arena(cage)
        arena.assert_unharmed()
        assert arena.run("os.fork()").end.value == "forbidden"
        unlocked = arena.run_without("result = 1", Layer.SECCOMP, Layer.LANDLOCK)
        assert unlocked.payload == b"1"


@pytest.mark.parametrize(("name", "value"), [("platform", "darwin"), ("machine", "riscv64")])
def test_an_unknown_system_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    if name == "platform":
        monkeypatch.setattr(sys, "platform", value)
    else:
        monkeypatch.setattr(platform, "machine", lambda: value)
    gap = selftest.find_gap()
    assert gap is not None
    assert value in gap[1]


def test_the_answer_is_kept_for_the_life_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    selftest.require_full_cage()
    monkeypatch.setattr(selftest, "find_gap", lambda: pytest.fail("tried again"))
    selftest.require_full_cage()
    assert os.getpid() > 0
