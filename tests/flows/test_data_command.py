"""``trigate data`` as a user runs it: what it prints, what it refuses, and what survives a kill."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from flows.cli import main
from flows.feeds import FeedSection, JsonSection, KlinesSection
from flows.problems import EnvironmentProblem
from runtime.market import CALENDARS, catalog
from runtime.market.feeds import JsonRows, Klines, PageStyle, Stamps

TESTS = Path(__file__).parents[1]
LISTED = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())


@dataclass
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def data(trigate, capsys, monkeypatch):
    """``data(*words)``: the same command in this process, which is quicker; the home is that of ``trigate``."""
    trigate.home.mkdir(mode=0o700)
    monkeypatch.chdir(trigate.home.parent)

    def run(*words, **environment):
        with monkeypatch.context() as patch:
            for name, value in ({"TRIGATE_HOME": str(trigate.home)} | environment).items():
                patch.setenv(name, value)
            capsys.readouterr()
            code = main(["data", *map(str, words)])
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def serve(klines_server, trigate):
    """``serve(*plan)``: a server, and a ``trigate.toml`` beside the home that names it."""
    servers = []

    def start(*plan, **options):
        server = klines_server.KlinesServer(plan, **{"listed": LISTED} | options)
        servers.append(server)
        section = f'[feeds.house]\ndialect = "klines"\nbase_url = "{server.base_url}"\nrequests_per_minute = 6000\npage_bars = 200\n'
        (trigate.home.parent / "trigate.toml").write_text(section)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def csv(tmp_path):
    """``csv(count, symbols=(None,), name="prices.csv")``: a file of daily bars."""

    def write(count, *, symbols=("",), name="prices.csv", volume=1_000.0):
        lines = ["timestamp,open,high,low,close,volume" + (",symbol" if symbols != ("",) else "")]
        for number, symbol in enumerate(symbols):
            close = 100 * np.exp(np.cumsum(0.01 * np.random.default_rng(number).standard_normal(count)))
            for day, price in enumerate(close.tolist()):
                stamp = (datetime(2015, 1, 1, tzinfo=UTC) + timedelta(days=day)).date().isoformat()
                cells = [stamp, repr(price * 0.999), repr(price * 1.01), repr(price * 0.98), repr(price), str(volume)]
                lines.append(",".join(cells + ([symbol] if symbol else [])))
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


FETCH = ("fetch", "house", "--symbol", "BTCUSDT", "--timeframe", "1h", "--name", "btc")
DATES = ("--from", "2024-01-01", "--to", "2024-03-01")


def sha256_of(trigate, name):
    return {symbol: entry.sha256 for symbol, entry in catalog.read_manifest(name, trigate.home).entries.items()}


# --- Sets and files -------------------------------------------------------------------------------------------------


def test_the_list_names_the_built_in_sets(data):
    ended = data("list", "--json")
    assert ended.code == 0, ended.err
    first, second = ended.document
    assert (first["name"], first["label"], first["origin"], first["registered"]) == (
        "us-large-caps",
        "real",
        "built in",
        False,
    )
    assert (second["name"], second["symbols"]) == ("planted-edge", ["PLANT-A", "PLANT-B", "PLANT-C"])


def test_a_file_is_added_shown_and_exported_without_its_vault(data, csv, tmp_path):
    path = csv(2_000, symbols=("AAA", "BBB"))
    added = data("add", path, "--name", "pair", "--json")
    assert added.code == 0, added.out + added.err
    assert (added.document["outcome"], added.document["new_bars"], added.document["symbols"]) == (
        "registered",
        4_000,
        ["AAA", "BBB"],
    )

    shown = data("show", "pair", "--json").document
    vault_start = shown["vault_start"]
    assert [one["symbol"] for one in shown["search"]] == ["AAA", "BBB"]
    for one in shown["search"]:
        assert (one["bars"], one["errors"], one["gaps"]) == (1_400, [], [])
        assert len(one["first_bars"]) == len(one["last_bars"]) == 3
        assert one["last_bars"][-1]["ts"] < vault_start
    assert shown["sha256"] != shown["search"][0]["sha256"]

    exported = data("export", "pair", tmp_path / "out.csv", "--json")
    assert exported.document == {
        "name": "pair",
        "file": str(tmp_path / "out.csv"),
        "symbols": ["AAA", "BBB"],
        "bars": 2_800,
    }
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 2_801
    assert max(line[:10] for line in lines[1:]) < vault_start[:10]
    again = data("export", "pair", tmp_path / "out.csv")
    assert (again.code, again.out) == (2, "")
    assert "there is already a file" in again.err


def test_no_command_shows_a_value_of_the_vault(data, csv, tmp_path):
    """A spike, a hole and a dead stretch in the vault: nobody who looks at the set learns of them."""
    path = csv(2_000)
    lines = path.read_text().splitlines()
    spoilt = [line.rsplit(",", 1)[0] + ",0" if 1_700 < row < 1_720 else line for row, line in enumerate(lines)]
    stamp, *_ = spoilt[1_800].split(",")
    spoilt[1_800] = f"{stamp},987654,987655,987653,987654.5,1"
    del spoilt[1_850:1_860]
    path.write_text("\n".join(spoilt) + "\n")
    outputs = [
        data("add", path, "--name", "one"),
        data("show", "one"),
        data("show", "one", "--json"),
        data("list", "--json"),
        data("export", "one", tmp_path / "out.csv"),
    ]
    for ended in outputs:
        assert ended.code == 0, ended.err
        for word in ("987655", "zero-volume", "split", "no bars between"):
            assert word not in ended.out + ended.err
    assert "987655" not in (tmp_path / "out.csv").read_text()


def test_a_file_that_has_grown_grows_the_set(data, csv):
    assert data("add", csv(1_900), "--name", "one").code == 0
    grown = data("add", csv(2_000), "--name", "one")
    assert grown.out.splitlines()[0] == "one has 100 new bars, all of them in its vault"
    assert data("add", csv(2_000), "--name", "one").out.startswith("one holds all of these bars already")


def test_a_file_can_be_joined_to_weeks(trigate, csv):
    added = trigate.run(
        "data", "add", csv(8_000), "--name", "weeks", "--resample", "1w", "--calendar", "around-the-clock", "--json"
    )
    assert added.code == 0, added.err
    assert (added.document["timeframe"], added.document["new_bars"]) == ("1w", 1_142)
    assert added.document["origin"].endswith("prices.csv, resampled from 1d, calendar around-the-clock")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("show", "nothing"),
            "there is no data set 'nothing', only us-large-caps, planted-edge; a file becomes one with: trigate data add",
        ),
        (
            ("show", "planted-edge", "--symbol", "XYZ"),
            "data set planted-edge has no symbol 'XYZ'; it holds PLANT-A, PLANT-B, PLANT-C",
        ),
        (("add", "absent.csv"), "there is no file"),
        (("add", "absent.csv", "--name", "A B"), "name 'A B': write 1 to 100 small letters"),
        (
            ("add", "absent.csv", "--calendar", "nyse"),
            "calendar 'nyse': there are around-the-clock, us-equities, currencies",
        ),
        (("add", "absent.csv", "--resample", "soon"), "timeframe 'soon': write a number and one of m, h, d, w"),
        (("export", "planted-edge", "out.txt"), "a data file's name ends with .csv or .parquet"),
        (("export", "planted-edge", "out.csv", "--symbol", "XYZ"), "has no symbol 'XYZ'"),
        (("check", "absent.csv"), "there is no file"),
        (
            ("check", "planted-edge"),
            "planted-edge is a data set, checked when it was added; trigate data show planted-edge",
        ),
    ],
)
def test_wrong_input_gets_one_sentence(data, words, message):
    ended = data(*words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    as_json = data(*words, "--json")
    assert as_json.document["error"]["kind"] == "usage"
    assert as_json.code == 2


def test_a_check_names_every_fault_by_line_and_symbol(data, csv):
    path = csv(100, symbols=("AAA", "BBB"))
    assert data("check", path).out == f"{path}: nothing forbids its use\n"
    lines = path.read_text().splitlines()
    lines[150] = lines[150].replace(",1000.0,", ",-5,")
    path.write_text("\n".join(lines) + "\n")
    ended = data("check", path)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        f"{path}, BBB: error: line 151: volume is -5, and volume must not be negative",
        f"{path}: cannot be used",
    ]
    document = data("check", path, "--json").document
    assert document["usable"] is False
    assert document["symbols"][1]["errors"] == [
        {
            "rule": "negative-volume",
            "count": 1,
            "places": [151],
            "message": "line 151: volume is -5, and volume must not be negative",
        }
    ]


# --- Feeds ----------------------------------------------------------------------------------------------------------


def test_a_feed_is_fetched_and_brought_up_to_date(data, serve):
    server = serve("429", "plain", "reset")
    server.plan[0] = "500"
    ended = data(*FETCH, *DATES, "--json")
    assert ended.code == 0, ended.out + ended.err
    document = ended.document
    assert (document["outcome"], document["new_bars"], document["origin"]) == ("registered", 1_440, "feed house")
    assert document["fetched"] == [
        {"symbol": "BTCUSDT", "bars": 1_440, "requests": 10, "resumed_bars": 0, "not_closed": 0, "gaps": []}
    ]
    again = data(*FETCH, "--to", "2024-03-11")
    assert again.out.splitlines()[:2] == [
        "btc has 240 new bars, all of them in its vault",
        "BTCUSDT: 340 closed bars in 2 requests, 0 of them from before; 0 not closed yet",
    ]


def test_a_feed_that_speaks_json_brings_the_bars_of_one_that_speaks_klines(data, trigate, serve):
    server = serve()
    assert data(*FETCH, *DATES).code == 0
    with (trigate.home.parent / "trigate.toml").open("a") as settings:
        settings.write(
            f"""
[feeds.plain]
dialect = "json"
base_url = "{server.base_url}"
path = "/v1/bars/{{symbol}}"
query = {{step = "{{timeframe}}", from = "{{start}}", to = "{{stop}}", limit = "{{limit}}"}}
rows = "data.bars"
fields = {{timestamp = "t", open = "o", high = "h", low = "l", close = "c", volume = "v"}}
timeframes = {{"1h" = "3600"}}
requests_per_minute = 6000
page_bars = 200
"""
        )
    words = ["plain" if word == "house" else "second" if word == "btc" else word for word in FETCH]
    ended = data(*words, *DATES)
    assert (ended.code, {seen.path for seen in server.seen}) == (2, {"/api/v3/klines", "/v1/bars/BTCUSDT"})
    assert "'second' is already registered, as btc" in ended.err
    again = data(*words, *DATES[:2], "--to", "2024-03-02", "--json")
    assert (again.code, again.document["fetched"][0]["bars"]) == (0, 1_464)


def test_gaps_are_listed_and_not_filled(data, serve):
    serve(holes=[LISTED + hour * 3_600 for hour in (10, 11, 200, 300, 400)])
    ended = data(*FETCH, *DATES)
    assert [line for line in ended.out.splitlines() if "no bars" in line or "gaps" in line][:4] == [
        "BTCUSDT: no bars between 2024-01-01T09:00Z and 2024-01-01T12:00Z",
        "BTCUSDT: no bars between 2024-01-09T07:00Z and 2024-01-09T09:00Z",
        "BTCUSDT: no bars between 2024-01-13T11:00Z and 2024-01-13T13:00Z",
        "BTCUSDT: 4 gaps altogether; --json lists them",
    ]
    shown = data("show", "btc", "--json").document
    assert shown["search"][0]["gaps"][0]["after"] == "2024-01-01T09:00Z"
    assert data("show", "btc").out.startswith("btc: feed house; BTCUSDT; 1h\n")
    assert data("show", "planted-edge").out.startswith("planted-edge: synthetic, built in; PLANT-A")


def test_a_set_up_to_now_ends_with_the_last_closed_bar(data, serve):
    """By the real clock: the forming bar is served and left out."""
    start = datetime.now(UTC) - timedelta(hours=1_100)
    serve()
    ended = data(*FETCH, "--from", f"{start:%Y-%m-%dT%H:00Z}", "--json")
    assert ended.code == 0, ended.out + ended.err
    # On the stroke of an hour no bar is forming yet.
    assert ended.document["fetched"][0]["not_closed"] in {0, 1}
    last = datetime.fromisoformat(ended.document["last"])
    assert last + timedelta(hours=1) <= datetime.now(UTC) < last + timedelta(hours=3)


def test_a_killed_fetch_goes_on_and_the_set_is_the_same(trigate, serve, tmp_path):
    server = serve("plain", "plain", "plain", "hold")
    process = trigate.start("data", *FETCH, *DATES)
    assert server.held.wait(300), process.communicate(timeout=1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not catalog.is_registered("btc", trigate.home)
    before = len(server.seen)
    resumed = trigate.run("data", *FETCH, *DATES, "--json")
    assert resumed.code == 0, resumed.out + resumed.err
    # Three pages of 200, each with one bar of the page before, were on disk; only what overlaps is asked for again.
    assert resumed.document["fetched"][0]["resumed_bars"] == 598
    assert len(server.seen) - before == 5
    at_once = trigate.run("data", *FETCH, *DATES, "--json", TRIGATE_HOME=str(tmp_path / "other"))
    assert at_once.document["fetched"][0]["resumed_bars"] == 0
    other = catalog.read_manifest("btc", tmp_path / "other")
    assert {symbol: entry.sha256 for symbol, entry in other.entries.items()} == sha256_of(trigate, "btc")
    assert list((trigate.home / "data" / ".partial").iterdir()) == []


def test_control_c_ends_a_fetch_at_once_and_keeps_what_there_is(trigate, serve):
    server = serve("plain", "plain", "hold")
    process = trigate.start("data", *FETCH, *DATES)
    assert server.held.wait(300), process.communicate(timeout=1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert "stopped; what was fetched is kept, and the same command goes on" in err
    resumed = trigate.run("data", *FETCH, *DATES, "--json")
    assert resumed.document["fetched"][0]["resumed_bars"] == 399


def test_a_rewritten_past_is_refused_after_a_kill_and_a_restart_forgets_it(data, trigate, serve):
    server = serve("plain", "plain", "plain", "403", "changed")
    stopped = data(*FETCH, *DATES)
    assert (stopped.code, stopped.out) == (3, "")
    assert stopped.err == (
        "trigate: feed house: it answered 403; check the feed's section in the configuration; what was fetched is kept\n"
    )
    refused = data(*FETCH, *DATES)
    assert refused.code == 2
    assert "has changed (close was " in refused.err
    assert "--restart" in refused.err
    restarted = data(*FETCH, *DATES, "--restart", "--json")
    assert restarted.document["fetched"][0]["resumed_bars"] == 0
    assert server.seen[-1].mode == "plain"


@pytest.mark.parametrize(
    ("plan", "code", "message"),
    [
        (["418-none"], 3, "banned for a while; run the same command again later; what was fetched is kept"),
        (["redirect"], 3, "a redirect to 'elsewhere.example', which is not followed"),
        (["disorder"], 2, "and a feed's bars must be in time order"),
        (["nan"], 2, "close is 'NaN', and every price and volume must be a finite number"),
    ],
)
def test_a_feed_that_fails_is_told_in_one_sentence(data, serve, plan, code, message):
    serve(*plan)
    ended = data(*FETCH, *DATES)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"house": "home"},
            "feed 'home' is not in trigate.toml (it has: house); add a section [feeds.home] with a dialect",
        ),
        ({"BTCUSDT": "NOSUCH"}, "it answered 400 ('Invalid symbol.'); check symbol, timeframe and dates"),
        ({"1h": "10m"}, "timeframe 10m: a klines feed has 1m"),
        ({"1h": "hourly"}, "timeframe 'hourly': write a number"),
        ({"2024-01-01": "yesterday"}, "--from: 'yesterday' is not a date like 2013-03-01"),
        ({"2024-03-01": "2023-03-01"}, "the time to fetch is empty: --from must lie before --to"),
        ({"2024-03-01": "2024-01-20"}, "'btc': 456 bars are too few to search on"),
    ],
)
def test_a_request_that_cannot_be_is_told_in_one_sentence(data, serve, change, message):
    serve()
    ended = data(*[change.get(word, word) for word in (*FETCH, *DATES)])
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_key_reaches_the_feed_and_nothing_else(data, trigate, serve):
    server = serve(key="Bearer k3y-of-the-house")
    toml = trigate.home.parent / "trigate.toml"
    toml.write_text(toml.read_text() + 'key_env = "HOUSE_KEY"\n')
    without = data(*FETCH, *DATES)
    assert (without.code, without.out) == (3, "")
    assert "the feed's key is read from the environment variable HOUSE_KEY, which is not set" in without.err
    wrong = data(*FETCH, *DATES, HOUSE_KEY="another-secret")
    assert wrong.code == 3
    right = data(*FETCH, *DATES, HOUSE_KEY="k3y-of-the-house")
    assert right.code == 0, right.err
    assert server.seen[-1].headers["authorization"] == "Bearer k3y-of-the-house"
    kept = b"".join(path.read_bytes() for path in trigate.home.rglob("*") if path.is_file())
    for secret in ("another-secret", "k3y-of-the-house"):
        assert secret not in wrong.out + wrong.err + right.out + right.err
        assert secret.encode() not in kept


# --- Sections of the configuration ----------------------------------------------------------------------------------

SECTION = TypeAdapter(FeedSection)
HOUSE = {
    "dialect": "json",
    "base_url": "https://host.example/",
    "path": "/bars/{symbol}",
    "query": {"since": "{start}"},
}


def test_a_klines_section_needs_an_address_and_no_more():
    section = SECTION.validate_python({"dialect": "klines", "base_url": "https://host.example/"})
    assert isinstance(section, KlinesSection)
    feed = section.feed("house")
    assert (section.base_url, feed.dialect, feed.calendar) == ("https://host.example", Klines(), None)
    assert section.headers({}) == {}


def test_a_json_section_describes_the_protocol():
    section = SECTION.validate_python(
        HOUSE
        | {
            "stamps": "ms",
            "paging": "time",
            "fields": {"timestamp": "t"},
            "calendar": "us-equities",
            "requests_per_minute": 60,
        }
    )
    assert isinstance(section, JsonSection)
    feed = section.feed("house")
    assert isinstance(feed.dialect, JsonRows)
    assert (feed.dialect.fields["timestamp"], feed.dialect.fields["open"]) == ("t", "open")
    assert (feed.dialect.stamps, feed.dialect.style) == (Stamps.MILLISECONDS, PageStyle.TIME)
    assert (feed.limits.per_minute, feed.calendar) == (60, CALENDARS[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"base_url": "ftp://host"}, "must be an address like https://host"),
        ({"base_url": "https://user:word@host"}, "must hold no user, password, query or fragment"),
        ({"base_url": "https://host:99999"}, "Port out of range"),
        ({"base_url": "http://host.example", "key_env": "KEY"}, "a key must not travel over plain http"),
        ({"key_env": "not a name"}, "should match pattern"),
        ({"calendar": "nyse"}, "calendar 'nyse': there are around-the-clock"),
        ({"page_bars": 1}, "greater than or equal to 2"),
        ({"path": "bars"}, "should match pattern"),
        ({"path": "/{colour}"}, r"there is no placeholder \{colour\}"),
        ({"query": {"a": "{symbol.__class__}"}}, r"there is no placeholder \{symbol.__class__\}"),
        ({"fields": {"price": "p"}}, "fields names 'price'; a bar has timestamp, open"),
        ({"query": {}}, r"paging 'time' needs \{start\} in the query"),
        ({"paging": "page"}, r"paging 'page' needs \{page\} in the query"),
        ({"paging": "token", "query": {"after": "{token}"}}, "next and paging 'token' belong together"),
        ({"next": "meta.next"}, "next and paging 'token' belong together"),
        ({"dialect": "fix"}, "does not match any of the expected tags"),
        ({"color": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(change, words):
    with pytest.raises(ValidationError, match=words):
        SECTION.validate_python(HOUSE | change)


def test_a_password_in_an_address_is_refused_without_showing_it(data, trigate):
    section = '[feeds.house]\ndialect = "klines"\nbase_url = "https://user:pa55word@host.example"\n'
    (trigate.home.parent / "trigate.toml").write_text(section)
    ended = data(*FETCH, *DATES)
    assert ended.code == 2
    assert "feeds.house.base_url: must hold no user, password, query or fragment" in ended.err
    assert "pa55word" not in ended.out + ended.err


def test_plain_http_with_a_key_is_for_this_machine_only():
    for host in ("127.0.0.1:80", "localhost", "[::1]:8080"):
        section = SECTION.validate_python(
            HOUSE | {"base_url": f"http://{host}", "key_env": "KEY", "key_header": "X-Api-Key"}
        )
        assert section.headers({"KEY": " secret "}) == {"x-api-key": "secret"}


@pytest.mark.parametrize("value", ["", "  ", "sch\u00fcssel", "two\nlines"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(value):
    section = SECTION.validate_python(HOUSE | {"key_env": "KEY"})
    with pytest.raises(EnvironmentProblem, match="the environment variable KEY, which") as caught:
        section.headers({"KEY": value})
    assert value.strip() == "" or value not in str(caught.value)


def test_the_help_names_every_calendar(data):
    help_text = " ".join(data("add", "--help", COLUMNS="200").out.split())
    assert all(calendar.name in help_text for calendar in CALENDARS)
