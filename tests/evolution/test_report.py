"""The morning report says what happened, why nothing was good enough, and never lets a candidate's text act."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evolution.afterwards import ValidationReport
from evolution.candidate import Candidate, Provenance, candidate_id
from evolution.escaping import escape_cell, escape_markdown, escape_text
from evolution.ledger import TrialLedger, UnknownIdError
from evolution.pool import Pool, Refusal
from evolution.report import render_markdown, render_text, shorten, verdict
from evolution.run import GenerationSummary, RunFacts, RunStatus
from evolution.summary import best_trials, refusals_by_check, run_summary
from evolution.tables import RefusalRow
from evolution.trial import Trial, TrialOutcome
from fitness.card import Objectives, Scorecard
from gates.findings import Finding
from runtime.source import StrategySource
from runtime.store import open_engine, writing

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)


@pytest.fixture
def engine(tmp_path):
    return open_engine(tmp_path)


@pytest.fixture
def ledger(engine):
    times = iter(START + timedelta(minutes=minute) for minute in range(1_000))
    return TrialLedger(engine, now=lambda: next(times))


@pytest.fixture
def pool(engine):
    return Pool(engine, now=lambda: START)


@pytest.fixture
def run_id(ledger):
    facts = RunFacts(
        seed=7,
        plan={},
        dataset="planted-edge",
        dataset_sha256="d" * 64,
        config_hash="c" * 64,
        engine_version="0.1.0",
    )
    return ledger.start_run(facts).id


def trial(run_id, index, *, score=None, operator="offline/jitter", findings=()):
    outcome = TrialOutcome.SCORED if score is not None else TrialOutcome.REJECTED
    card = Scorecard(
        cells=(),
        objectives=Objectives(sharpe=1.0, calmar=0.5, turnover=8.0),
        violation=0.0,
        vetoes=(),
        score=score,
        benchmark_score=0.4,
        beats_buy_and_hold=False,
        trades=40,
        max_drawdown=0.2,
    )
    return Trial(
        candidate=Candidate(
            id=candidate_id(0, index),
            run_id=run_id,
            generation=0,
            index=index,
            source=StrategySource(f"# {index}".encode()),
            provenance=Provenance(operator=operator, parents=(), seed=None),
        ),
        outcome=outcome,
        reason="",
        gate=None if score is not None else 1,
        findings=findings,
        scorecard=card if score is not None else None,
    )


def finding(message):
    return Finding(gate=1, rule="import-not-allowed", line=1, column=1, message=message, hint="")


def refuse(engine, run_id, index, check, figure, limit, sentence):
    row = RefusalRow(
        run_id=run_id,
        candidate_id=candidate_id(0, index),
        check=check,
        figure=figure,
        limit=limit,
        sentence=sentence,
        created=START,
    )
    with writing(engine) as session:
        session.add(row)


def test_a_night_without_an_entry_says_why_check_by_check(engine, ledger, pool, run_id):
    ledger.add_trials(
        [
            trial(run_id, 0, score=0.25),
            trial(run_id, 1, score=0.75),
            trial(run_id, 2, findings=(finding("import of os"),)),
        ]
    )
    refuse(engine, run_id, 0, "validation-psr", 0.41, 0.80, "PSR: 0.41; must be above 0.80")
    refuse(engine, run_id, 1, "validation-psr", 0.79, 0.80, "PSR: 0.79; must be above 0.80")
    refuse(engine, run_id, 1, "validation-drawdown", 0.35, 0.30, "drawdown: 35.0%; must be at most 30.0%")
    ledger.add_generation(run_id, GenerationSummary(generation=0, hypervolume=0.125, counts={"scored": 2, "killed": 0}))
    ledger.finish_run(run_id, RunStatus.FINISHED)
    text = render_text(run_summary(ledger, pool, run_id))
    assert (
        text
        == """\
Run r-20261130-001
  nothing was good enough: 2 candidates were considered for the pool, none was admitted
  finished; from 2026-11-30 22:00 UTC, until 2026-11-30 22:03 UTC
  data planted-edge (dddddddddddd), seed 7, offline, engine 0.1.0

Search
  not evaluated again: 0 known draws, 0 duplicates in behaviour, 0 recalled

Funnel
  3 candidates: 2 scored, 1 rejected (gate 1: 1)

Best by seed score on train (buy and hold: 0.400)
  g000-c001: score 0.750, 40 round trips, drawdown 20.0%, by jitter
  g000-c000: score 0.250, 40 round trips, drawdown 20.0%, by jitter

How the best one came about
  g000-c001 0.750 scored, offline/jitter

Most frequent findings
  1 x gate 1 import-not-allowed: import of os

Front on train, generation by generation
  generation 0: hypervolume 0.1250; 2 scored

Refused at admission, check by check
  validation-drawdown refused 1; nearest g000-c001: drawdown: 35.0%; must be at most 30.0%
  validation-psr refused 2; nearest g000-c001: PSR: 0.79; must be above 0.80
"""
    )


def test_the_same_stored_run_always_gives_the_same_report(ledger, pool, run_id):
    ledger.add_trials([trial(run_id, index, score=0.5) for index in range(3)])
    assert render_markdown(run_summary(ledger, pool, run_id)) == render_markdown(run_summary(ledger, pool, run_id))


def test_a_run_that_is_not_there_has_no_report(ledger, pool):
    with pytest.raises(UnknownIdError):
        run_summary(ledger, pool, "r-20200101-001")


def test_the_verdict_tells_the_different_kinds_of_nothing_apart(ledger, pool, run_id):
    assert verdict(run_summary(ledger, pool, run_id)) == "not one candidate was tried"
    ledger.add_trials([trial(run_id, 0, score=0.5), trial(run_id, 1)])
    summary = run_summary(ledger, pool, run_id)
    card = summary.best[0].scorecard
    good = replace(summary.best[0], scorecard=replace(card, beats_buy_and_hold=True, benchmark_score=0.25))
    assert verdict(replace(summary, best=(good,))) == (
        "nothing was good enough: none was put before admission, of 1 that were scored"
    )
    beaten = replace(card, beats_buy_and_hold=False, benchmark_score=0.75)
    summary = replace(summary, best=(replace(summary.best[0], scorecard=beaten),))
    assert verdict(summary) == (
        "nothing was good enough: none beats buy and hold on train (best 0.500 against 0.750), of 1 that were scored"
    )


def test_a_replay_is_named_as_such(ledger, pool):
    facts = RunFacts(
        seed=7,
        plan={"replay": "r-20261129-001"},
        dataset="planted-edge",
        dataset_sha256="d" * 64,
        config_hash="c" * 64,
        engine_version="0.1.0",
        note="replay of r-20261129-001, with no network",
    )
    summary = run_summary(ledger, pool, ledger.start_run(facts).id)
    assert verdict(summary).startswith("replay of r-20261129-001: 0 candidates, 0 scored")
    assert "  replay of r-20261129-001, with no network\n" in render_text(summary)


@pytest.mark.parametrize(
    ("status", "is_cut_short", "says"),
    [
        (None, False, "running; from"),
        (None, True, "cut short; from"),
        (RunStatus.INTERRUPTED, False, "interrupted; from"),
        (RunStatus.FAILED, False, "failed; from"),
        (RunStatus.FINISHED, False, "finished; from"),
    ],
)
def test_a_run_that_ended_early_comes_with_the_command_that_goes_on(ledger, pool, run_id, status, is_cut_short, says):
    if status is not None:
        ledger.finish_run(run_id, status)
    text = render_text(run_summary(ledger, pool, run_id, is_cut_short=is_cut_short))
    assert says in text
    can_go_on = is_cut_short or status in {RunStatus.INTERRUPTED, RunStatus.FAILED}
    assert (f"  go on with it: trigate evolve --resume {run_id}\n" in text) == can_go_on


def test_why_a_run_was_interrupted_is_told_until_it_goes_on(ledger, pool, run_id):
    """A ceiling in tokens or money, or a model that does not answer."""
    ledger.tell(run_id, interruption="[budget.run] tokens = 9: raise it to go on")
    assert "why:" not in render_text(run_summary(ledger, pool, run_id))
    ledger.finish_run(run_id, RunStatus.INTERRUPTED)
    assert "  why: [budget.run] tokens = 9: raise it to go on\n" in render_text(run_summary(ledger, pool, run_id))
    assert "why:" not in render_text(run_summary(ledger, pool, run_id, is_cut_short=True))


def test_what_was_in_the_pool_before_is_not_called_nothing(ledger, pool, run_id):
    summary = replace(run_summary(ledger, pool, run_id), known=("p-0001", "p-0002"))
    assert verdict(summary) == "no new pool entry: 2 of its candidates are in the pool already (p-0001, p-0002)"
    many = replace(summary, known=tuple(f"p-{number:04d}" for number in range(1, 8)))
    assert "(p-0001, p-0002, p-0003, p-0004, p-0005, ...)" in verdict(many)


def test_near_copies_among_the_best_are_named_as_such(ledger, pool, run_id):
    summary = run_summary(ledger, pool, run_id)
    wave, other = bytes([0, 1, 2, 1] * 64), bytes([1, 0] * 128)
    best = tuple(
        replace(trial(run_id, index, score=score), rhythm=rhythm)
        for index, (score, rhythm) in enumerate([(0.9, wave), (0.8, wave), (0.7, other)])
    )
    lines = [line for line in render_text(replace(summary, best=best)).splitlines() if "round trips" in line]
    assert [line.partition("20.0%, ")[2] for line in lines] == [
        "by jitter",
        "earns like g000-c000",
        "by jitter",
    ]


def test_a_long_run_shows_the_generations_that_moved_the_front(ledger, pool, run_id):
    volumes = [0.5 + (number >= 30) + (number >= 70) for number in range(100)]
    for number, volume in enumerate(volumes):
        ledger.add_generation(run_id, GenerationSummary(generation=number, hypervolume=volume, counts={"scored": 2}))
    lines = [line for line in render_text(run_summary(ledger, pool, run_id)).splitlines() if "generation " in line]
    numbers = [int(line.split()[1].rstrip(":")) for line in lines if "hypervolume" in line]
    assert {0, 30, 70, 99} <= set(numbers)
    assert len(numbers) == 10
    assert "  the other 90 moved the front by at most 0.0000" in render_text(run_summary(ledger, pool, run_id))


def test_what_validation_showed_is_told_with_how_many_were_read(ledger, pool, run_id):
    ledger.add_generation(run_id, GenerationSummary(generation=0, hypervolume=0.5, counts={"scored": 2}))
    summary = replace(run_summary(ledger, pool, run_id), validation=ValidationReport(reads=3, volume=0.25))
    assert "  validation: hypervolume 0.2500 of 3 sources read there\n" in render_text(summary)


def test_lines_of_ours_fit_a_narrow_terminal(ledger, pool, run_id):
    detail = "exit of the second parent: self.long and (self.dip[-1] > self.recovery_level or bar.close < 1.0)"
    one = trial(run_id, 0, score=0.75)
    made_by = replace(one.candidate.provenance, detail=detail, operator="offline/linked_crossover")
    ledger.add_trials([replace(one, candidate=replace(one.candidate, provenance=made_by))])
    lines = render_text(run_summary(ledger, pool, run_id)).splitlines()
    assert any("offline/linked_crossover: exit of" in line for line in lines)
    assert all(len(line) <= 80 for line in lines if line.startswith("  g000"))


def test_the_best_come_first_and_equal_ones_in_order_of_their_ids():
    trials = [trial("r", index, score=score) for index, score in enumerate([0.1, 0.9, None, 0.9, -5.0])]
    assert [each.candidate.index for each in best_trials(trials)] == [1, 3, 0, 4]
    assert [each.candidate.index for each in best_trials(trials, limit=1)] == [1]


def test_an_undefined_figure_is_never_the_nearest():
    undefined = Refusal(candidate_id="g0-c0", check="validation-psr", figure=None, limit=0.8, sentence="undefined")
    far = replace(undefined, candidate_id="g0-c1", figure=-9.0, sentence="far")
    unknown = replace(undefined, check="a-check-of-tomorrow")
    psr, other = refusals_by_check([undefined, far, unknown])
    assert (psr.check, psr.candidates, psr.nearest) == ("validation-psr", 2, far)
    assert (other.check, other.nearest) == ("a-check-of-tomorrow", unknown)


HOSTILE = "ok\x1b]0;owned\x07 \u202egnp.exe \ud800 [click](http://x) <script>alert(1)</script> | `rm` *b*\r\n# Heading"


def test_hostile_text_does_nothing_in_either_medium(ledger, pool, run_id):
    ledger.add_trials(
        [
            trial(run_id, 0, findings=(finding(HOSTILE),)),
            trial(run_id, 1, score=0.5, operator=HOSTILE.replace("\ud800", "")),
        ]
    )
    ledger.finish_run(run_id, RunStatus.FINISHED, note=HOSTILE)
    summary = run_summary(ledger, pool, run_id)
    text, markdown = render_text(summary), render_markdown(summary)
    for report in (text, markdown):
        report.encode()  # no lone surrogate is left
        assert all(each.isprintable() or each == "\n" for each in report)
    assert "<script" not in markdown
    assert "[click](" not in markdown
    assert "\n# Heading" not in markdown
    assert "&lt;script\\>alert" in markdown


def test_escaping_keeps_plain_words_as_they_are():
    plain = "Zoë's edge, 5% a year: 北川"
    assert escape_text(plain) == plain
    assert escape_markdown(plain) == plain
    assert escape_cell(plain) == plain


@pytest.mark.parametrize("escape", [escape_markdown, escape_cell])
@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("![x](http://evil.example/i.png)", "[x]("),
        ("see http://evil.example", "http://"),
        ("www.evil.example", "www."),
        ("me@evil.example", "e@"),
        ("<img src=x>", "<img"),
        ("&lt;b&gt;", "&lt;"),
        ("**bold**", "**"),
        ("_odd_", "_odd_"),
        ("`code`", "`code"),
    ],
)
def test_nothing_that_markdown_would_act_on_is_left(escape, text, gone):
    unescaped = re.sub(r"\\.", "", escape(text))
    assert gone not in unescaped


@pytest.mark.parametrize(
    "text", ["# heading", "> quotation", "- item", "+ item", "1. item", "12) item", "| a | b", "*rule"]
)
def test_a_cell_does_not_begin_as_something_else(text):
    assert "\\" in escape_cell(text)[:4]


def test_a_cell_keeps_our_own_words_free_of_escapes():
    """Not every page that shows a table reads its cells as Markdown."""
    for words in (
        "maximum drawdown 37.12% in train-4 (limit 30.00%)",
        "offline/param_jitter",
        "Sharpe 0.09, Calmar -0.03, turnover 5.6 a year (bounds over 12 cells); seed score 0.55 against 0.66",
        "gate 1: import of os at line 3",
    ):
        assert escape_cell(words) == words


def test_a_long_line_is_cut():
    assert len(shorten("word " * 100)) == 160
    assert shorten("two\n lines\t ") == "two lines"
