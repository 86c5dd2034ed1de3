"""The compiler on golden documents. A case is a file: adding one needs no Python."""

import json
from pathlib import Path

import pytest

from runtime.sir import Mode, as_document
from runtime.sir.compile import Compiled, Refused, compile_document

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
