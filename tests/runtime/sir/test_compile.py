"""The compiler on golden documents. A case is a file: adding one needs no Python."""

import json
from pathlib import Path

import pytest

from runtime.sir import Mode, Stage, as_document, document_sha256
from runtime.sir.compile import Compiled, Refused, compile_document
from runtime.sir.plan import IndicatorRef

GOLDEN = Path(__file__).parents[2] / "sir_golden"
PLANS = sorted(path for path in (GOLDEN / "plans").glob("*.json") if not path.name.endswith(".plan.json"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_golden_document_compiles_to_its_plan(path):
    compiled = compile_document(path.read_bytes())
    assert isinstance(compiled, Compiled), compiled.reason
    assert as_document(compiled.plan) == json.loads(path.with_suffix(".plan.json").read_text())


def test_the_example_of_the_readme_needs_fourteen_bars():
    compiled = compile_document((GOLDEN / "plans" / "rsi_daily.json").read_bytes())
    assert isinstance(compiled, Compiled)
    plan = compiled.plan
    assert (plan.intent, plan.warmup_bars, len(plan.indicators)) == (Mode.BACKTEST, 14, 1)
    assert compiled.warnings == ()


def test_a_document_is_never_for_real_money():
    refused = compile_document((GOLDEN / "plans" / "rsi_daily.json").read_bytes(), mode=Mode.LIVE)
    assert isinstance(refused, Refused)
    assert refused.problems[0].rule == "live-refused"


REFUSED = sorted((GOLDEN / "refused").glob("*.json"))


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_a_golden_refusal_says_all_of_it_line_by_line(path):
    case = json.loads(path.read_text())
    text = case["text"] if "text" in case else json.dumps(case["document"])
    refused = compile_document(text.encode(), mode=Mode(case["mode"]) if case["mode"] else None)
    assert isinstance(refused, Refused)
    assert (refused.stage.value, [problem.line for problem in refused.problems]) == (case["stage"], case["problems"])
    assert all("\n" not in problem.line for problem in refused.problems)


def test_every_stage_has_a_golden_refusal():
    assert {json.loads(path.read_text())["stage"] for path in REFUSED} == {stage.value for stage in Stage}


def test_an_old_document_keeps_the_hash_under_which_it_was_stored():
    """The upgrade happens in memory: an approval of the stored text stays an approval of it."""
    data = (GOLDEN / "plans" / "version_1_0.json").read_bytes()
    compiled = compile_document(data)
    assert isinstance(compiled, Compiled)
    assert compiled.plan.schema_version == "1.0.0"
    assert compiled.document.schema_version == "1.2.0"
    assert compiled.sha256 == document_sha256(json.loads(data))


def test_all_versions_of_one_strategy_come_to_the_same_rules():
    old, newer = (compile_document((GOLDEN / "plans" / f"version_{v}.json").read_bytes()).plan for v in ("1_0", "1_1"))
    assert (old.rules, old.risk, old.execution) == (newer.rules, newer.risk, newer.execution)
    assert old.document_sha256 != newer.document_sha256


def test_a_screener_warns_about_exits_that_nobody_reads():
    tree = json.loads((GOLDEN / "plans" / "screener.json").read_text())
    tree["signals"]["exit"] = tree["signals"]["entry"]
    compiled = compile_document(json.dumps(tree).encode())
    assert [warning.rule for warning in compiled.warnings] == ["mode-ignores"]


def test_a_feature_that_no_rule_names_is_left_out_with_a_warning():
    tree = json.loads((GOLDEN / "plans" / "rsi_daily.json").read_text())
    tree["features"].insert(0, {"id": "slow", "type": "SMA", "params": {"timeperiod": 200}, "source": "close"})
    compiled = compile_document(json.dumps(tree).encode())
    assert [warning.rule for warning in compiled.warnings] == ["unused-feature"]
    assert (compiled.plan.warmup_bars, compiled.plan.rules.entry[0][0].left) == (14, IndicatorRef(0))
    assert compiled.plan.indicators[0].id == "rsi"
