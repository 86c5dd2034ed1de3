"""What live runs saw joins the vault by the import's own door, and nothing else of the set changes."""

from __future__ import annotations

import importlib.util
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import trading
from flows.accrual import Accruals, AccruingWatch, accrue
from flows.commands.signing import PASSPHRASE
from runtime.market.catalog import SEARCH_FILE, VAULT_FILE, read_bars, read_manifest
from runtime.paper.runner import Unwatched

TESTS = Path(__file__).parents[1]
LISTED = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
DAY = 86_400


@pytest.fixture
def served(here):
    """A server whose clock the test sets, and a home whose set came from it."""
    spec = importlib.util.spec_from_file_location("accrual_klines_server", TESTS / "klines_server.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    clock = SimpleNamespace(now=float(LISTED + 60 * DAY))
    with module.KlinesServer(listed=LISTED, clock=lambda: clock.now) as server:
        here.home.joinpath("trigate.toml").write_text(
            f'[feeds.house]\ndialect = "klines"\nbase_url = "{server.base_url}"\nrequests_per_minute = 6000\n'
        )
        words = (
            "--symbol",
            "BTCUSDT",
            "--timeframe",
            "1h",
            "--name",
            "btc",
            "--from",
            "2024-01-01",
            "--to",
            "2024-03-01",
        )
        done = here.run("data", "fetch", "house", *words)
        assert done.code == 0, done.out + done.err
        yield here.home, server, clock


def parts(home):
    manifest = read_manifest("btc", home)
    return [read_bars(manifest, home, each)["BTCUSDT"] for each in (SEARCH_FILE, VAULT_FILE)]


@pytest.mark.slow
def test_the_bars_of_live_days_join_the_vault_in_a_process_of_their_own(served, monkeypatch):
    home, server, clock = served
    search, vault = parts(home)
    clock.now += 2 * DAY + 1_800
    monkeypatch.chdir(home)
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    accruals = Accruals(home)
    accruals.begin("btc")
    accruals.begin("btc")  # one at a time
    accruals.wait(300)
    after_search, after_vault = parts(home)
    assert after_search.sha256 == search.sha256
    assert len(after_vault) > len(vault)
    assert after_vault.between(0, len(vault)).sha256 == vault.sha256
    assert int(after_vault.ts[-1]) == int(clock.now) // 3_600 * 3_600 - 3_600
    asked = len(server.seen)
    accruals.begin("btc")
    accruals.wait(300)
    assert parts(home)[1].sha256 == after_vault.sha256
    assert len(server.seen) > asked


def test_a_set_that_no_feed_made_stays_as_it_is(here):
    assert accrue(here.home, "planted-edge") == 0
    assert accrue(here.home, "nothing") == 0


def test_each_day_of_a_live_run_asks_once_and_the_run_goes_on():
    asked, told = [], []

    class Inner(Unwatched):
        def took(self, run, step, books):
            told.append(step)

    watch = AccruingWatch(Inner(), SimpleNamespace(begin=asked.append), "btc")
    for hour in range(60):
        at = datetime(2026, 3, 2, 12, tzinfo=UTC) + timedelta(hours=hour)
        watch.took("t-1", SimpleNamespace(bar=SimpleNamespace(ts=at)), None)
    watch.faulted("t-1", "out", 1.0)
    assert asked == ["btc"] * 2
    assert len(told) == 60


def test_the_paper_room_has_no_way_to_a_vault():
    """Only the import has one, and it is another process: nothing that a run imports opens the file."""
    names = {name for name in vars(trading) if "vault" in name.lower()}
    assert names == set()
    source = Path(trading.__file__).read_text()
    assert "open_vault" not in source
    assert "whole_bars" not in source
