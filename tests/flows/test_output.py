"""What candidates and models wrote is shown, never obeyed: by the terminal, by Markdown or by a table."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evolution.candidate import Candidate, Provenance
from evolution.trial import Trial, TrialOutcome
from flows import artifacts, output, watch
from flows.cli import main
from runtime.source import StrategySource


@given(st.text())
def test_no_text_can_move_the_cursor_or_turn_the_line_around(text):
    shown = output.plain(text)
    assert all(each.isprintable() for each in shown)


def test_a_table_without_a_terminal_is_tab_separated(capsys):
    output.table("", ("name", "score"), [("a\x1b[31m", 1.23456), ("b", None)])
    assert capsys.readouterr().out == "name\tscore\na\\x1b[31m\t1.235\nb\t-\n"


def test_a_table_on_a_narrow_terminal_is_a_line_per_cell(capsys, monkeypatch):
    narrow = Console(width=40, force_terminal=True, markup=False)
    monkeypatch.setattr(output, "console", lambda: narrow)
    output.table("", ("id", "status", ""), [("p-0001", "candidate", 1.5), ("p-0002", None, "x\x1b")])
    assert capsys.readouterr().out == (
        "id: p-0001\nstatus: candidate\n-: 1.500\n\nid: p-0002\nstatus: -\n-: x\\x1b\n\n"
    )


def test_json_output_refuses_what_json_does_not_have():
    import pytest

    with pytest.raises(ValueError, match="not JSON compliant"):
        output.print_json({"score": float("nan")})


def trial(reason="fine", outcome=TrialOutcome.FAILED):
    provenance = Provenance(operator="offline/param_jitter", parents=("g000-c000",), seed=1)
    candidate = Candidate(
        id="g001-c002", run_id="r-1", generation=1, index=2, source=StrategySource(b"x"), provenance=provenance
    )
    return Trial(candidate=candidate, outcome=outcome, reason=reason)


def test_the_artifact_row_of_a_trial_names_its_parents_and_escapes_its_reason():
    row = artifacts._row(1, trial("bad \x07 bell"))
    assert row["parents"] == "g000-c000"
    # Twice escaped: once for terminals, once for a table that is read as Markdown.
    assert row["reason"] == "bad \\\\x07 bell"
    assert row["score"] is None


def console_of(width, *, terminal):
    out = io.StringIO()
    return out, Console(
        file=out, width=width, force_terminal=terminal, markup=False, highlight=False, color_system=None
    )


def test_the_console_says_a_line_per_generation_and_survives_a_narrow_terminal(monkeypatch):
    for width, terminal in ((200, False), (20, True)):
        out, console = console_of(width, terminal=terminal)
        monkeypatch.setattr(watch, "console", lambda *, stderr, console=console: console)
        with watch.ConsoleWatch() as shown:
            shown.expect(generations=2, candidates=4, done=0)
            shown.generation_began(0)
            shown.trial_ended(trial())
            shown.generation_ended(0, best=None, front=0)
            shown.say("markup [bold]stays[/bold] text")
        text = " ".join(out.getvalue().split())
        assert "generation g000 (1 of 2): 1 failed; best score none yet; front 0;" in text
        assert "[bold]stays[/bold]" in text


@pytest.mark.parametrize("as_json", [False, True])
def test_control_c_anywhere_is_one_sentence_or_one_document(as_json, monkeypatch, capsys):
    """Typer makes a result of it, without a word."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("runtime.store.open_engine", interrupted)
    code = main(["pool", "list", *(["--json"] if as_json else [])])
    said = capsys.readouterr()
    sentence = "stopped on request; what was stored stays stored"
    assert code == 130
    if as_json:
        assert json.loads(said.out) == {"error": {"kind": "interrupted", "message": sentence}}
    else:
        assert (said.out, said.err) == ("", f"trigate: {sentence}\n")
