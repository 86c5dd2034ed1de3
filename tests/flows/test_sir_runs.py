"""``trigate sir backtest`` and ``trigate sir screen`` as a user runs them, and documents in a search."""

import json
from pathlib import Path

import pytest

PLANS = Path(__file__).parents[1] / "sir_golden" / "plans"


@pytest.fixture
def document(tmp_path):
    """A golden document without its universe, with changes, as a file."""

    def write(name: str, **changes: object) -> Path:
        tree = json.loads((PLANS / f"{name}.json").read_text()) | {"universe": None} | changes
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({key: value for key, value in tree.items() if value is not None}))
        return path

    return write


def test_both_ways_of_judging_give_the_same_run(trigate, document):
    file = document("rsi_daily")
    fast = trigate.run("sir", "backtest", file, "--symbol", "IBM", "--json").document
    slow = trigate.run("sir", "backtest", file, "--symbol", "IBM", "--bar-by-bar", "--json").document
    assert fast == slow
    assert fast["strategy"]["trades"] > 3
    assert fast["orders"][0]["action"] == "1 buy quantity=1.0"
    assert trigate.run("sir", "hash", file).out.strip() == fast["sha256"]


def test_a_document_states_its_own_days(trigate, document):
    dates = {"start": "2001-06-01", "end": "2002-12-31"}
    whole = trigate.run("sir", "backtest", document("rsi_daily"), "--json").document
    cut = trigate.run("sir", "backtest", document("rsi_daily", date_range=dates), "--json").document
    days = [fill["ts"][:10] for fill in cut["fills"]]
    assert days
    assert min(days) > dates["start"]
    assert max(days) <= dates["end"]
    assert len(cut["fills"]) < len(whole["fills"])
    ended = trigate.run(
        "sir", "backtest", document("rsi_daily", date_range={"start": "1980-01-01", "end": "1981-01-01"})
    )
    assert (ended.code, ended.out.count("\n")) == (1, 1)
    assert "data load no-such-bars at /date_range: there are no bars from 1980-01-01 to 1981-01-01" in ended.out


def test_legs_are_named_as_model_priced_wherever_they_are_shown(trigate, document):
    file = document("iron_condor")
    assert "MODEL PRICES: leg prices are a model's" in trigate.run("sir", "backtest", file).out
    told = trigate.run("sir", "backtest", file, "--json").document
    assert "a model's" in told["model_priced"]
    assert {len(structure["legs"]) for structure in told["structures"]} == {4}


def test_a_screener_judges_every_symbol_of_the_set(trigate, document):
    tree = json.loads(document("rsi_daily").read_text())
    file = document("rsi_daily", sizing=None, execution={"mode": "screen"}, signals={"entry": tree["signals"]["entry"]})
    told = trigate.run("sir", "screen", file, "--json").document
    assert [each["symbol"] for each in told["symbols"]] == ["AAPL", "IBM", "MSFT"]
    assert {each["ts"][:10] for each in told["symbols"]} == {"2009-04-07"}
    assert trigate.run("sir", "screen", file).out.splitlines()[0] == "symbol\tlast bar\tentry\tvalues"


@pytest.mark.parametrize(
    ("changes", "words", "code", "message"),
    [
        ({}, ("--symbol", "XYZ"), 2, "symbol 'XYZ' is not in data set us-large-caps"),
        ({"market": {"name": "us", "timeframe": "4h"}, "features": []}, (), 1, "cross-check"),
        (
            {"universe": [{"symbol": "SPY", "venue": "ARCA", "asset_class": "etf"}]},
            (),
            2,
            "symbol 'SPY' is not in data set",
        ),
        ({"sizing": None}, (), 1, "refused at the stage capability"),
    ],
)
def test_what_cannot_run_says_why(trigate, document, changes, words, code, message):
    ended = trigate.run("sir", "backtest", document("rsi_daily", **changes), *words)
    assert ended.code == code
    assert message in ended.out + ended.err


def test_bars_of_another_step_are_refused(trigate, document):
    tree = json.loads(document("rsi_daily").read_text())
    features = [{**each, "timeframe": None} for each in tree["features"]]
    ended = trigate.run(
        "sir", "backtest", document("rsi_daily", market={"name": "us", "timeframe": "4h"}, features=features)
    )
    assert ended.code == 1
    said = "data load no-such-bars at /market/timeframe: the document is written for bars of 4h: AAPL has bars of 1d; ask: "
    assert said in ended.out


@pytest.mark.slow
def test_documents_compete_with_python_files_in_one_run(trigate):
    ended = trigate.run("evolve", "--documents", "--seed", "5", "--generations", "2", "--population", "12", "--json")
    assert ended.code == 0
    trials = trigate.run("runs", "show", ended.document["id"], "--json").document["trials"]
    operators = {trial["operator"] for trial in trials}
    assert {trial["language"] for trial in trials} == {"python", "sir"}
    assert not any(trial["outcome"] in {"rejected", "failed", "killed"} for trial in trials)
    assert {"seed/rsi_reversal", "seed/trend"} <= operators
    assert any(each.startswith("offline/sir_") for each in operators)
