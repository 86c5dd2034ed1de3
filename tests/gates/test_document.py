from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evolution.seeds import document_sources
from gates import Admitted, CellJob, Rejected, check, evaluate, open_gate_cage, open_proof_cage, prove, same_orders
from runtime.kernel import AccountKind, RunConfig
from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.source import Language, StrategySource


@pytest.fixture(scope="module")
def bars() -> Bars:
    rng = np.random.default_rng(4)
    close = 100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, 900)))
    open_ = np.concatenate(([100.0], close[:-1]))
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(900) * 86_400,
        open=open_,
        high=np.maximum(open_, close) * 1.005,
        low=np.minimum(open_, close) * 0.995,
        close=close,
        volume=np.ones(900),
    )


@pytest.fixture(scope="module")
def cage(bars):
    with open_gate_cage({"X": bars}) as opened:
        yield opened


CELLS = (
    CellJob(key="X", start=250, stop=500, warmup=250),
    CellJob(key="X", start=500, stop=900, warmup=250),
)


def seed(**changes: Any) -> StrategySource:
    _, source = document_sources(Timeframe(86_400))[0]
    tree = json.loads(source.data) | changes
    return StrategySource(json.dumps({k: v for k, v in tree.items() if v is not None}).encode(), Language.SIR)


@pytest.mark.parametrize("place", range(3))
def test_a_seed_document_runs_and_its_proof_asks_for_the_same(cage, bars, place):
    _, source = document_sources(Timeframe(86_400))[place]
    fast = evaluate(source, cage, CELLS, RunConfig())
    assert isinstance(fast.verdict, Admitted)
    assert fast.outcome is not None
    assert len(fast.reports) == 2
    assert any(report.trades for report in fast.reports)
    with open_proof_cage() as empty:
        proof = prove(source, empty, {"X": bars}, CELLS, RunConfig())
    assert [same_orders(one, other) for one, other in zip(fast.reports, proof.reports, strict=True)] == [None, None]


def test_a_document_is_stopped_between_cells_like_any_candidate(cage):
    seen = []
    done = evaluate(seed(), cage, CELLS, RunConfig(), goes_on=lambda reports: seen.append(len(reports)))
    assert (done.was_stopped, len(done.reports), seen) == (True, 1, [1])


def test_the_compilers_problems_are_findings_of_gate_one(cage):
    verdict = check(seed(sizing=None, signals={"entry": []}), cage)
    assert isinstance(verdict, Rejected)
    assert verdict.gate == 1
    assert verdict.findings[0].rule == "document"
    assert "/sizing" in verdict.findings[0].message
    assert verdict.findings[0].hint.startswith("ask: ")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"date_range": {"start": "2020-01-01", "end": "2020-12-31"}}, "its own dates"),
        ({"universe": [{"symbol": "SPY", "venue": "ARCA", "asset_class": "etf"}]}, "its own universe"),
        ({"market": {"name": "any", "timeframe": "1h"}}, "written for bars of 1h, and these are bars of 1d"),
        (
            {
                "execution": {
                    "mode": "backtest",
                    "direction": "short",
                    "order_type": "market",
                    "product": "carry_forward",
                }
            },
            "a cash account cannot",
        ),
        ({"sizing": None, "risk": None, "execution": {"mode": "screen"}}, "a screener trades nothing"),
    ],
)
def test_in_a_run_its_data_decide_and_not_the_document(cage, changes, sentence):
    source = seed(**changes)
    assert isinstance(check(source, cage), Admitted)
    done = evaluate(source, cage, CELLS, RunConfig())
    assert isinstance(done.verdict, Rejected)
    assert sentence in done.verdict.reason
    assert done.reports == ()


def test_a_short_document_runs_in_a_margin_account(cage):
    execution = {"mode": "backtest", "direction": "short", "order_type": "market", "product": "carry_forward"}
    done = evaluate(seed(execution=execution), cage, CELLS, replace(RunConfig(), account=AccountKind.MARGIN))
    assert isinstance(done.verdict, Admitted)
    assert any(report.position.min() < 0 for report in done.reports)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"schema_version": "9.9.9"}'])
def test_what_is_no_document_is_refused_with_a_reason(cage, data):
    verdict = check(StrategySource(data, Language.SIR), cage)
    assert isinstance(verdict, Rejected)
    assert verdict.gate == 1
