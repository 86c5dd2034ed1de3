"""Neighbours differ in one number, and only in one that is there to be tuned."""

from __future__ import annotations

import pytest

from evolution.pool.perturbation import MOST_NEIGHBOURS, neighbours_of
from evolution.seeds import seed_sources
from gates.scan import Scanned, scan
from runtime.source import Language, StrategySource


def strategy(body, params=""):
    return StrategySource.from_text(f"class S(Strategy):\n{params}    def on_bar(self, bar):\n{body}")


def changes(source):
    return [each.change for each in neighbours_of(source)]


def test_a_parameter_moves_by_tenths_and_fifths_within_its_bounds():
    source = strategy("        self.close()\n", "    window = param(40, low=10, high=45)\n")
    assert changes(source) == ["line 2: 40 -> 32", "line 2: 40 -> 36", "line 2: 40 -> 44", "line 2: 40 -> 45"]


def test_whole_numbers_stay_whole_and_move_by_one_at_least():
    source = strategy("        self.close()\n", "    window = param(3, low=2, high=50)\n")
    assert changes(source) == ["line 2: 3 -> 2", "line 2: 3 -> 4"]


def test_numbers_in_the_code_move_and_structure_does_not():
    body = (
        "        if self.flat and self.up[-2] > 0.97 * self.down[-1] + 1:\n"
        "            self.target(1.0, stop_loss=-0.05)\n"
        "        self.log(f'{bar.close:.7f} {5}')\n"
    )
    assert [change.split(" -> ")[0] for change in changes(strategy(body))] == ["line 3: 0.97"] * 4 + [
        "line 4: 0.05"
    ] * 4


def test_only_the_number_changes():
    source = StrategySource(
        "class S(Strategy):\r\n    a = param(0.5, low=0.1, high=1.0)  # größer\r\n\r\n"
        "    def on_bar(self, bar):\r\n        self.log('é'); self.target(0.25)\r\n".encode()
    )
    found = {each.change: each.source.data for each in neighbours_of(source)}
    assert found["line 2: 0.5 -> 0.55"] == source.data.replace(b"param(0.5,", b"param(0.55,")
    assert found["line 5: 0.25 -> 0.2"] == source.data.replace(b"target(0.25)", b"target(0.2)")


@pytest.mark.parametrize("numbers", [6, 7, 12, 40])
def test_there_are_never_too_many_and_all_of_a_text_gets_its_share(numbers):
    body = "".join(f"        self.target(0.{number + 30})\n" for number in range(numbers))
    lines = [int(change.split()[1].rstrip(":")) for change in changes(strategy(body))]
    assert len(lines) <= MOST_NEIGHBOURS
    assert lines[0] == 3
    assert lines[-1] >= 0.9 * (numbers + 2)


def test_what_has_no_numbers_or_is_no_python_has_no_neighbours():
    assert neighbours_of(strategy("        self.close()\n")) == ()
    assert neighbours_of(StrategySource(b"not python")) == ()
    assert neighbours_of(StrategySource(b"{}", Language.SIR)) == ()


@pytest.mark.parametrize(("name", "source"), seed_sources())
def test_neighbours_of_the_seeds_pass_gate_one(name, source):
    found = neighbours_of(source)
    assert len(found) >= 8
    assert len({each.source.sha256 for each in found} - {source.sha256}) == len(found)
    assert all(isinstance(scan(each.source), Scanned) for each in found)
