"""One file, the same verdict that a night would give it."""

from __future__ import annotations

import math

import pytest

from flows.settings import Settings

GOOD = """
class S(Strategy):
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.buy(10, tag="in")
        if self.bar_count == 4:
            self.close()
"""
BAD = "import os\n\n\nclass S(Strategy):\n    def on_bar(self, bar):\n        eval('1')\n"
METRICS = {
    "total_return", "cagr", "sharpe", "sortino", "calmar", "max_drawdown",
    "turnover", "exposure", "trades", "fees", "final_equity",
}  # fmt: skip


@pytest.fixture
def bars(tmp_path):
    """Six days whose arithmetic fits in a head."""
    rows = [
        (100, 101, 99, 100),
        (102, 103, 101, 102),
        (104, 106, 103, 105),
        (105, 107, 104, 106),
        (106, 108, 105, 107),
        (110, 111, 109, 110),
    ]
    file = tmp_path / "bars.csv"
    body = "".join(f"2020-01-{6 + day:02d},{o},{h},{low},{c},1000\n" for day, (o, h, low, c) in enumerate(rows))
    file.write_text("timestamp,open,high,low,close,volume\n" + body)
    return file


@pytest.fixture
def strategy(tmp_path):
    def write(text, name="s.py"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def test_a_rejected_file_lists_all_findings_like_a_linter(trigate, strategy):
    file = strategy(BAD)
    ended = trigate.run("check", file)
    assert ended.code == 1
    assert f"{file}:1:8: gate 1" in ended.out
    assert ":6:9: gate 1" in ended.out
    document = trigate.run("check", file, "--json").document
    assert document["verdict"] == "rejected"
    assert document["gate"] == 1
    assert [each["line"] for each in document["findings"]] == [1, 6]
    assert all(set(each) == {"gate", "rule", "line", "column", "message", "hint"} for each in document["findings"])


def test_an_admitted_file_has_no_findings(trigate, strategy):
    document = trigate.run("check", strategy(GOOD), "--json").document
    assert document["verdict"] == "admitted"
    assert document["gate"] is None
    assert document["findings"] == []
    assert document["language"] == "python"
    assert len(document["sha256"]) == 64


@pytest.mark.parametrize(
    "data", [b"\x00", b"\xff\xfe", b"", b"class S(Strategy):\n  def on_bar(self, bar): pass\n\x0c"]
)
def test_bad_bytes_are_a_finding_of_gate_one_not_bad_input(trigate, strategy, data):
    ended = trigate.run("check", strategy(data), "--json")
    assert ended.code == 1
    assert ended.document["findings"]


def test_a_backtest_keeps_the_contract_to_the_cent(trigate, strategy, bars):
    """Buys 10 at the open of row 1 and sells them at the open of row 4, 10 bps each side."""
    ended = trigate.run("backtest", strategy(GOOD), "--data", bars, "--cash", 10_000, "--json")
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["end"] == "finished"
    assert document["first_tradable_bar"] == 0
    assert [(each["ts"][:10], each["side"], each["quantity"], each["price"]) for each in document["fills"]] == [
        ("2020-01-07", "buy", 10.0, 102.0),
        ("2020-01-10", "sell", 10.0, 106.0),
    ]
    assert document["fills"][0]["fee"] == pytest.approx(1.02)
    assert document["fills"][0]["tag"] == "in"
    assert set(document["fills"][0]) >= {"ts", "side", "quantity", "price", "fee", "tag"}
    expected = [10_000, 10_000, 9_998.98, 10_028.98, 10_038.98, 10_000 + 40 - 1.02 - 1.06, 10_000 + 40 - 1.02 - 1.06]
    assert document["equity"] == pytest.approx(expected)
    assert set(document["strategy"]) >= METRICS
    assert set(document["buy_and_hold"]) >= METRICS
    assert document["strategy"]["trades"] == 1
    assert document["strategy"]["sharpe"] is None  # fewer than 30 returns
    assert document["beats_buy_and_hold"] is False
    assert document["refused"] == []
    assert document["open_orders"] == 0
    assert document["vetoes"] == []


def test_buy_and_hold_pays_the_same_fee_from_the_same_bar(trigate, strategy, bars):
    document = trigate.run("backtest", strategy(GOOD), "--data", bars, "--cash", 10_000, "--json").document
    units = 10_000 / (102 * 1.001)
    assert document["buy_and_hold"]["final_equity"] == pytest.approx(units * 110)
    assert document["buy_and_hold"]["trades"] == 0


def test_an_order_on_the_last_bar_stays_open(trigate, strategy, bars):
    text = "class S(Strategy):\n    def on_bar(self, bar):\n        if self.bar_count == 6:\n            self.buy(1)\n"
    document = trigate.run("backtest", strategy(text), "--data", bars, "--json").document
    assert document["fills"] == []
    assert document["open_orders"] == 1
    assert document["equity"][-1] == 100_000


def test_an_order_that_cash_does_not_cover_is_refused_with_both_amounts(trigate, strategy, bars):
    text = (
        "class S(Strategy):\n    def on_bar(self, bar):\n        if self.bar_count == 1:\n            self.buy(1000)\n"
    )
    document = trigate.run("backtest", strategy(text), "--data", bars, "--json").document
    assert len(document["refused"]) == 1
    reason = document["refused"][0]["reason"]
    assert "102102.00" in reason
    assert "100000.00" in reason


def test_a_rejected_source_gives_the_check_document(trigate, strategy, bars):
    ended = trigate.run("backtest", strategy(BAD), "--data", bars, "--json")
    assert ended.code == 1
    assert ended.document["verdict"] == "rejected"


def test_a_run_that_does_not_finish_says_how_it_ended(trigate, strategy, tmp_path):
    """It behaves on the smoke bars (fewer than 400) and loops on longer data: only the cage can see that."""
    rows = "".join(f"{1_577_836_800 + 86_400 * day},10,11,9,10,100\n" for day in range(900))
    (tmp_path / "long.csv").write_text("timestamp,open,high,low,close,volume\n" + rows)
    (tmp_path / "trigate.toml").write_text("[limits]\ncpu_s = 1\n")
    text = "class S(Strategy):\n    def on_bar(self, bar):\n        while self.bar_count > 800:\n            pass\n"
    ended = trigate.run("backtest", strategy(text), "--data", tmp_path / "long.csv", "--json")
    assert ended.code == 1
    assert ended.document["end"] == "cpu_exceeded"


def test_without_a_data_set_the_built_in_bars_are_used_and_end_before_the_vault(trigate, strategy):
    ended = trigate.run("backtest", strategy(GOOD), "--json")
    assert ended.code == 0
    assert len(ended.document["equity"]) < 3270 * 0.71
    assert all(math.isfinite(value) for value in ended.document["equity"])


def test_a_ruined_run_is_finished_and_vetoed(trigate, strategy, tmp_path):
    prices = [100, 100, 150, 250, 250]
    rows = "".join(f"2020-01-{6 + day:02d},{p},{p},{p},{p},10\n" for day, p in enumerate(prices))
    (tmp_path / "up.csv").write_text("timestamp,open,high,low,close,volume\n" + rows)
    text = (
        "class S(Strategy):\n    def on_bar(self, bar):\n        if self.bar_count == 1:\n            self.sell(999)\n"
    )
    ended = trigate.run("backtest", strategy(text), "--data", tmp_path / "up.csv", "--margin", "--json")
    assert ended.code == 0, ended.out
    document = ended.document
    assert document["end"] == "finished"
    assert any("ruin" in veto for veto in document["vetoes"])
    assert document["equity"][-1] == 0
    assert document["beats_buy_and_hold"] is False


def test_settings_carry_cash_and_costs_into_the_run():
    settings = Settings.model_validate({"run": {"cash": 5.0, "fee_bps": 1.5, "slippage_bps": 2.0}})
    config = settings.run_config()
    assert (config.cash, config.costs.fee_bps, config.costs.slippage_bps) == (5.0, 1.5, 2.0)
