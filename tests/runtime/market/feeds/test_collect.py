"""From a feed to a registered set, and from a registered set to a longer one."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from runtime.market import DataError, catalog, list_datasets, open_dataset, open_vault, resample
from runtime.market.calendar import DAY_S, HOUR_S
from runtime.market.feeds import Feed, FeedRequest, Klines, Limits, Stop, Stopped, fetch_set, refreshes
from runtime.market.sessions import find_calendar
from runtime.market.vault import whole_bars
from runtime.model import Timeframe

FEED = Feed(name="house", dialect=Klines(page_bars=500))
HOUR, FOUR_HOURS = Timeframe(HOUR_S), Timeframe(4 * HOUR_S)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def request_of(hourly):
    """``request_of(hours, **changes)``: that many hours of BTCUSDT from its listing on."""

    def make(hours, **changes):
        want = hourly(0, hours)
        default = FeedRequest(
            name="btc", symbols=("BTCUSDT",), timeframe=HOUR, start=want.start, stop=want.stop, resample_to=None
        )
        return replace(default, **changes)

    return make


@pytest.fixture
def collect(home, call):
    def run(request, server, feed=FEED):
        return fetch_set(request, feed, call(server, Limits(per_minute=60_000)), home)

    return run


def spools(home):
    return list((home / "data" / ".partial").iterdir())


def test_a_fetch_becomes_a_set_like_any_other(collect, serve, home, request_of, klines_server):
    collected = collect(request_of(1_100), serve())
    assert (collected.added.name, collected.added.outcome, collected.added.new_bars) == ("btc", "registered", 1_100)
    dataset = open_dataset("btc", home)
    assert (dataset.label, dataset.symbols, dataset.timeframe) == ("feed", ("BTCUSDT",), HOUR)
    assert len(dataset.bars["BTCUSDT"]) == 770
    (summary,) = [each for each in list_datasets(home) if each.name == "btc"]
    assert summary.origin == "feed house"
    whole = whole_bars("btc", home)["BTCUSDT"]
    expected = [float(klines_server.bar("BTCUSDT", int(ts), HOUR_S)[3]) for ts in whole.ts]
    assert whole.close.tolist() == expected
    assert whole.sha256 == collected.fetched["BTCUSDT"].bars.sha256
    assert spools(home) == []


def test_a_set_knows_the_request_that_brings_it_up_to_date(collect, serve, home, request_of, monkeypatch):
    """So a schedule needs its name only."""
    server = serve()
    collect(request_of(1_100), server)
    later = request_of(1_124)
    (due,) = refreshes(home, later.stop)
    assert (due.feed, due.request) == ("house", replace(later, start=None))
    grown = collect(due.request, server)
    assert (grown.added.outcome, grown.added.new_bars) == ("grown", 24)
    known = catalog.read_manifest("btc", home)
    joined = replace(known, timeframe=FOUR_HOURS, source=replace(known.source, resampled_from="1h"))
    monkeypatch.setattr(catalog, "read_manifests", lambda _home: (joined,))
    (due,) = refreshes(home, later.stop)
    assert (due.request.timeframe, due.request.resample_to) == (HOUR, FOUR_HOURS)


def test_sets_that_no_feed_made_are_not_refreshed(home):
    open_dataset("planted-edge", home)
    assert refreshes(home, 2_000_000_000) == ()


def test_the_same_request_later_brings_only_what_is_new_into_the_vault(collect, serve, home, request_of):
    server = serve()
    collect(request_of(1_100), server)
    search, vault = open_dataset("btc", home).sha256, open_vault("btc", home)
    before = len(server.seen)
    collected = collect(request_of(1_300), server)
    assert (collected.added.outcome, collected.added.new_bars, len(server.seen) - before) == ("grown", 200, 1)
    assert open_dataset("btc", home).sha256 == search
    grown = open_vault("btc", home)
    assert len(grown.bars["BTCUSDT"]) == len(vault.bars["BTCUSDT"]) + 200
    assert grown.bars["BTCUSDT"].instrument == vault.bars["BTCUSDT"].instrument
    assert collect(request_of(1_300, start=None), server).added.outcome == "unchanged"
    assert collect(request_of(1_250), server).added.outcome == "unchanged"
    assert spools(home) == []


def test_in_pieces_or_at_once_the_set_is_the_same(collect, serve, home, request_of):
    server = serve()
    collect(request_of(1_100), server)
    collect(request_of(1_250), server)
    collect(request_of(1_400), server)
    in_pieces = whole_bars("btc", home)["BTCUSDT"].sha256
    shutil.rmtree(home)
    collect(request_of(1_400), server)
    assert whole_bars("btc", home)["BTCUSDT"].sha256 == in_pieces


def test_several_symbols_make_one_set_with_one_split(collect, serve, home, request_of):
    server = serve()
    collect(request_of(1_100, symbols=("BTCUSDT", "ETHUSDT")), server)
    dataset = open_dataset("btc", home)
    assert dataset.symbols == ("BTCUSDT", "ETHUSDT")
    assert len({one.sha256 for one in dataset.bars.values()}) == 2
    collected = collect(request_of(1_200, symbols=("BTCUSDT", "ETHUSDT")), server)
    assert [one.requests for one in collected.fetched.values()] == [1, 1]
    assert (collected.added.outcome, collected.added.new_bars) == ("grown", 200)


def test_a_second_symbol_that_fails_does_not_lose_the_first(collect, serve, home, request_of):
    request = request_of(1_100, symbols=("BTCUSDT", "ETHUSDT"))
    server = serve(*["plain"] * 4, "403")
    assert isinstance(collect(request, server), Stopped)
    assert not catalog.is_registered("btc", home)
    collected = collect(request, server)
    assert collected.fetched["BTCUSDT"].resumed_bars == 1_100
    assert collected.added.outcome == "registered"


def test_bars_can_be_joined_before_they_are_registered(collect, serve, world, home, request_of):
    server = serve()
    world.time += 200 * DAY_S
    raw = collect(request_of(4_403, resample_to=FOUR_HOURS), server).fetched["BTCUSDT"].bars
    assert (len(raw), raw.timeframe) == (4_403, HOUR)
    whole = whole_bars("btc", home)["BTCUSDT"]
    assert whole.sha256 == resample(raw, FOUR_HOURS).bars.sha256
    assert whole.timeframe == FOUR_HOURS
    (summary,) = [each for each in list_datasets(home) if each.name == "btc"]
    assert summary.origin == "feed house, resampled from 1h"


def test_joined_bars_are_brought_up_to_date_by_whole_ones(collect, serve, world, home, request_of):
    server = serve()
    world.time += 200 * DAY_S
    first = collect(request_of(4_403, resample_to=FOUR_HOURS), server)
    assert first.added.new_bars == 1_100
    grown = collect(request_of(4_450, resample_to=FOUR_HOURS), server)
    assert (grown.added.outcome, grown.added.new_bars) == ("grown", 12)
    assert whole_bars("btc", home)["BTCUSDT"].ts[-1] % (4 * HOUR_S) == 0


def test_a_rewritten_past_is_refused_and_the_set_stays(collect, serve, home, request_of):
    server = serve()
    collect(request_of(1_100), server)
    before = whole_bars("btc", home)["BTCUSDT"].sha256
    server.plan.append("changed")
    with pytest.raises(DataError, match=r"BTCUSDT: the bar of .* has changed \(close was"):
        collect(request_of(1_200), server)
    assert whole_bars("btc", home)["BTCUSDT"].sha256 == before


def test_a_feed_that_lost_the_past_cannot_go_on(collect, serve, request_of):
    collect(request_of(1_100), serve())
    with pytest.raises(DataError, match="the feed no longer has the last bars of the registered set"):
        collect(request_of(1_300), serve(listed=request_of(1_150).stop))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"timeframe": FOUR_HOURS},
            r"btc is registered and was made otherwise \(feed house, BTCUSDT, 1h\); ask for the same",
        ),
        ({"symbols": ("ETHUSDT",)}, "was made otherwise"),
        ({"resample_to": FOUR_HOURS}, "was made otherwise"),
        ({"start": 1_700_000_000}, "with the same --from or none"),
    ],
)
def test_another_request_under_the_same_name_is_refused(collect, serve, request_of, change, words):
    server = serve()
    collect(request_of(1_100), server)
    before = len(server.seen)
    with pytest.raises(DataError, match=words):
        collect(request_of(1_300, **change), server)
    assert len(server.seen) == before


def test_another_feed_under_the_same_name_is_refused(collect, serve, request_of):
    server = serve()
    collect(request_of(1_100), server)
    for other in (replace(FEED, name="else"), replace(FEED, calendar=find_calendar("around-the-clock"))):
        with pytest.raises(DataError, match="was made otherwise"):
            collect(request_of(1_300), server, other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "My Set"}, "name 'My Set': write 1 to 100 small letters"),
        ({"name": "planted-edge"}, "belongs to a built-in data set"),
        ({"symbols": ("a b",)}, "symbol 'a b'"),
        ({"symbols": ("A", "A")}, "name each symbol once"),
        ({"symbols": ()}, "at least one"),
        ({"start": None}, "'btc' is not registered yet, so say with --from where its bars begin"),
        ({"stop": 5}, "the time to fetch is empty"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_anything_is_sent(collect, serve, request_of, change, words):
    server = serve()
    with pytest.raises(DataError, match=words):
        collect(request_of(1_100, **change), server)
    assert server.seen == []


def test_too_few_bars_are_refused_and_kept_for_a_longer_request(collect, serve, home, request_of):
    server = serve()
    with pytest.raises(DataError, match="'btc': 600 bars are too few to search on"):
        collect(request_of(600), server)
    collected = collect(request_of(1_100), server)
    assert collected.fetched["BTCUSDT"].resumed_bars == 600
    assert spools(home) == []


def test_a_restart_forgets_what_was_stored(collect, serve, request_of):
    server = serve("plain", "403", "plain", "changed")
    assert isinstance(collect(request_of(1_100), server), Stopped)
    collected = collect(request_of(1_100, restart=True), serve())
    assert collected.fetched["BTCUSDT"].resumed_bars == 0


def test_the_stated_calendar_must_be_the_datas(collect, serve, request_of):
    equities = replace(FEED, calendar=find_calendar("us-equities"))
    with pytest.raises(DataError, match="calendar us-equities has 1764 bars of 1h in a year and the data have 8766"):
        collect(request_of(1_100), serve(), equities)


def test_a_set_from_a_file_is_not_continued_by_a_feed(collect, serve, home, request_of, make_bars, write_csv):
    from runtime.market import FileRequest, add_file

    add_file(write_csv(make_bars(1_500)), home, FileRequest(name="btc"))
    with pytest.raises(DataError, match=r"btc is registered and was made otherwise \(from a file\)"):
        collect(request_of(1_100), serve())


def test_an_unreachable_feed_is_a_value(home, request_of, call, serve):
    server = serve()
    caller = call(server, Limits(attempts=2))
    server.close()
    result = fetch_set(request_of(1_100), FEED, caller, home)
    assert isinstance(result, Stopped)
    assert result.stop is Stop.UNREACHABLE


def test_a_damaged_set_is_not_extended(collect, serve, home, request_of):
    server = serve()
    collect(request_of(1_100), server)
    manifest = catalog.read_manifest("btc", home)
    entry = replace(manifest.entries["BTCUSDT"], sha256="0" * 64)
    with catalog.writing(home):
        vault = (home / "data" / "btc" / "vault.npz").read_bytes()
        catalog.replace_vault(replace(manifest, entries={"BTCUSDT": entry}), home, vault=vault)
    with pytest.raises(DataError, match="data set btc is damaged"):
        collect(request_of(1_200), server)


def test_whole_bars_are_the_two_parts_together(collect, serve, home, request_of):
    collect(request_of(1_100), serve())
    whole = whole_bars("btc", home)["BTCUSDT"]
    assert len(whole) == 1_100
    assert np.all(np.diff(whole.ts) == HOUR_S)
