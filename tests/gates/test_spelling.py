"""Guesses stay cheap, whatever a source calls its names."""

from __future__ import annotations

import difflib

from gates.spelling import Spelling


def test_the_nearest_known_name_is_guessed():
    spelling = Spelling(("history", "indicator"), cutoff=0.7)
    assert spelling.nearest("histroy") == "history"
    assert spelling.nearest("volatility") is None


def test_after_a_few_guesses_and_for_long_names_nothing_is_compared(monkeypatch):
    asked = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda name, known, **_: asked.append((name, len(known))) or [])
    spelling = Spelling([f"{'n' * 30}{number}" for number in range(5_000)] + ["x" * 41], cutoff=0.7)
    for number in range(50):
        spelling.nearest(f"{'m' * 20}{number}")
    spelling.nearest("y" * 41)
    assert len(asked) == 5
    assert all(known == 500 for _, known in asked)
    assert Spelling(["x"], cutoff=0.7).nearest("y" * 41) is None
    assert len(asked) == 5
