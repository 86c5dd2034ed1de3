"""Registration fixes the split, keeps the vault apart, and survives what happens to files, folders and processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.market import (
    WARMUP_BARS,
    DataError,
    FileRequest,
    add_file,
    catalog,
    find_calendar,
    list_datasets,
    open_dataset,
    open_vault,
    overlapping_vaults,
    read_file,
    resample,
)
from runtime.model import Timeframe


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def vault_bytes(home, name):
    return (home / "data" / name / "vault.npz").read_bytes()


@pytest.mark.parametrize(("name", "label", "symbols"), [("us-large-caps", "real", 3), ("planted-edge", "synthetic", 3)])
def test_a_built_in_set_registers_itself_once(home, name, label, symbols):
    first = open_dataset(name, home)
    folder = home / "data" / name
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = open_dataset(name, home)
    assert sorted(before) == ["manifest.json", "search.npz", "vault.npz"]
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert (first.name, first.label, len(first.symbols)) == (name, label, symbols)
    assert again.sha256 == first.sha256
    assert len(first.train_cells()) == 4 * symbols


def test_the_digests_of_the_built_in_sets_do_not_change(home):
    """Stored trials are compared by them; a change means a new edition of the data or of the split."""
    digests = {name: open_dataset(name, home).sha256[:16] for name in ("us-large-caps", "planted-edge")}
    assert digests == {"us-large-caps": "5f5ba4fc157db0f5", "planted-edge": "d79b3aeb35a6e672"}


def test_search_and_vault_together_are_the_whole_set(home, make_bars, write_csv):
    bars = make_bars(2_000)
    dataset = open_dataset(write_csv(bars), home)
    vault = open_vault(dataset.name, home)
    (symbol,) = dataset.symbols
    search, locked = dataset.bars[symbol], vault.bars[symbol]
    (cell,) = vault.cells
    assert search.sha256 == bars.between(0, 1_400).sha256
    assert locked.sha256 == bars.between(1_420 - WARMUP_BARS, 2_000).sha256
    assert (cell.fold, cell.start, cell.stop) == ("vault", WARMUP_BARS, WARMUP_BARS + 580)
    assert locked.ts[cell.start] == dataset.split.vault_start > search.ts[-1]
    assert locked.instrument == search.instrument


def test_opening_a_set_reads_neither_the_vault_nor_needs_it(home, make_bars, write_csv):
    path = write_csv(make_bars(2_000))
    name = open_dataset(path, home).name
    (home / "data" / name / "vault.npz").unlink()
    assert open_dataset(path, home).sha256 == open_dataset(name, home).sha256
    assert name in [summary.name for summary in list_datasets(home)]
    with pytest.raises(DataError, match=r"vault.npz is damaged"):
        open_vault(name, home)


def test_only_the_vault_module_reads_the_vault_file():
    folder = Path(catalog.__file__).parent
    users = {path.name for path in folder.rglob("*.py") if "read_bars(manifest, home, VAULT" in path.read_text()}
    named = {path.name for path in folder.rglob("*.py") if "VAULT_FILE" in path.read_text()}
    assert users == {"vault.py"}
    assert named == {"vault.py", "catalog.py", "registration.py"}


def test_folders_and_files_are_private(home, make_bars, write_csv):
    name = open_dataset(write_csv(make_bars(2_000)), home).name
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home / "data" / name).iterdir()}
    assert set(modes.values()) == {0o600}
    for folder in (home, home / "data", home / "data" / name):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_gets_a_name_from_its_own_and_its_content(home, make_bars, write_csv):
    bars = make_bars(2_000)
    dataset = open_dataset(write_csv(bars, name="My Prices (2).csv"), home)
    assert dataset.name == f"my-prices-2-{bars.sha256[:8]}"
    assert dataset.label == "file"
    assert open_dataset(dataset.name, home).sha256 == dataset.sha256


def test_the_same_content_elsewhere_is_the_same_set(home, make_bars, write_csv, tmp_path):
    bars = make_bars(2_000, symbol="AAA")
    path = write_csv(bars, symbols=True)
    first = open_dataset(path, home)
    copy = tmp_path / "copy.csv"
    copy.write_text(path.read_text())
    assert open_dataset(copy, home).name == first.name
    copy.write_text(path.read_text().replace("+00:00", "Z"))
    assert open_dataset(copy, home, timeframe=Timeframe.parse("1d"), symbol="AAA").name == first.name
    assert len(list((home / "data").glob("[!.]*"))) == 1


def test_one_symbol_of_a_file_with_several_is_its_own_set(home, make_bars, write_csv):
    first, second = make_bars(2_000, symbol="AAA"), make_bars(2_000, symbol="BBB", seed=2)
    path = write_csv(first, second, symbols=True)
    with pytest.raises(DataError, match=r"choose one with --symbol"):
        open_dataset(path, home)
    names = {open_dataset(path, home, symbol=symbol).name for symbol in ("AAA", "BBB", "AAA")}
    assert names == {f"prices-aaa-{first.sha256[:8]}", f"prices-bbb-{second.sha256[:8]}"}


def test_one_symbol_of_a_registered_set_can_be_opened(home):
    dataset = open_dataset("us-large-caps", home, symbol="IBM", timeframe=Timeframe.parse("1d"))
    assert dataset.symbols == ("IBM",)
    with pytest.raises(DataError, match=r"us-large-caps has no symbol 'GOOG'; it holds AAPL, IBM, MSFT"):
        open_dataset("us-large-caps", home, symbol="GOOG")
    with pytest.raises(DataError, match=r"us-large-caps has 1d bars, not 1h"):
        open_dataset("us-large-caps", home, timeframe=Timeframe.parse("1h"))


@pytest.mark.parametrize("name", ["nowhere", "nowhere.csv", "../no-such-data-set", "a\0b", ".lock"])
def test_what_is_neither_name_nor_file_is_refused_with_the_names_there_are(home, name):
    with pytest.raises(DataError, match=r"no data set or file .* there are us-large-caps, planted-edge"):
        open_dataset(name, home)


def test_the_empty_path_is_the_current_folder_and_refused(home):
    with pytest.raises(DataError, match=r"'.' is a folder; give the path of one data file"):
        open_dataset("", home)


def test_a_refused_file_leaves_nothing_behind(home, make_bars, write_csv):
    with pytest.raises(DataError, match=r"'prices.csv': 500 bars are too few"):
        open_dataset(write_csv(make_bars(500)), home)
    volume = np.full(2_000, -1.0)
    with pytest.raises(DataError, match=r"'prices.csv', lines 2, 3, 4 and 1997 more: volume is -1"):
        open_dataset(write_csv(make_bars(2_000, volume=volume)), home)
    assert list((home / "data").glob("[!.]*")) == []


def test_bars_that_a_file_gains_go_to_the_vault_and_nothing_else_moves(home, make_bars, write_csv):
    bars = make_bars(2_300)
    path = write_csv(bars.between(0, 2_000))
    before, old_vault = open_dataset(path, home), open_vault(open_dataset(path, home).name, home)
    write_csv(bars)
    after = open_dataset(path, home)
    vault = open_vault(after.name, home)
    assert (after.name, after.sha256, after.split) == (before.name, before.sha256, before.split)
    (symbol,) = after.symbols
    assert vault.bars[symbol].sha256 == bars.between(1_420 - WARMUP_BARS, 2_300).sha256
    assert (vault.cells[0].start, vault.cells[0].stop) == (WARMUP_BARS, WARMUP_BARS + 880)
    assert vault.sha256 != old_vault.sha256
    assert list_datasets(home)[-1].bars == 2_300
    assert open_dataset(path, home).sha256 == before.sha256


def test_an_interrupted_growth_is_refused_and_healed_by_opening_the_file_again(home, make_bars, write_csv, monkeypatch):
    bars = make_bars(2_300)
    path = write_csv(bars.between(0, 2_000))
    name = open_dataset(path, home).name
    write_csv(bars)
    real = catalog.write_new

    def fail_on_manifest(target, data):
        if target.name.endswith("manifest.json"):
            raise OSError(28, "No space left on device")
        real(target, data)

    monkeypatch.setattr(catalog, "write_new", fail_on_manifest)
    with pytest.raises(DataError, match=r"cannot be registered in .*: No space left on device"):
        open_dataset(path, home)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"vault.npz is damaged"):
        open_vault(name, home)
    open_dataset(path, home)
    assert open_vault(name, home).cells[0].stop == WARMUP_BARS + 880


def test_a_file_that_changed_is_refused_with_the_first_difference_before_the_vault(home, make_bars, write_csv):
    bars = make_bars(2_000)
    path = write_csv(bars)
    name = open_dataset(path, home).name
    stored = vault_bytes(home, name)
    close = bars.close.copy()
    close[100] *= 1.0001
    write_csv(replace(bars, close=close))
    with pytest.raises(
        DataError, match=rf"'prices.csv' was registered as {name} and has changed since, from the bar of "
    ):
        open_dataset(path, home)
    close = bars.close.copy()
    close[1_900] *= 1.0001
    write_csv(replace(bars, close=close))
    with pytest.raises(DataError, match=r"has changed since, in later bars; .* save the new data under another name"):
        open_dataset(path, home)
    write_csv(bars.between(0, 1_999))
    with pytest.raises(DataError, match=r"has changed since"):
        open_dataset(path, home)
    assert vault_bytes(home, name) == stored
    write_csv(bars)
    assert open_dataset(path, home).name == name


def test_new_data_under_another_name_are_a_new_set_whose_overlap_is_noticed(home, make_bars, write_csv):
    bars = make_bars(3_000, symbol="AAA")
    short = open_dataset(write_csv(bars.between(0, 2_000), name="a.csv", symbols=True), home)
    longer = open_dataset(write_csv(bars, name="b.csv", symbols=True), home)
    other = open_dataset(write_csv(make_bars(3_000, symbol="BBB"), name="c.csv", symbols=True), home)
    early = open_dataset(write_csv(bars.between(0, 1_400), name="d.csv", symbols=True), home)
    assert longer.name != short.name
    assert overlapping_vaults(longer, home) == (short.name, early.name)
    assert overlapping_vaults(other, home) == overlapping_vaults(early, home) == ()
    assert overlapping_vaults(short, home) == (early.name,)


def test_the_list_shows_built_in_and_registered_sets_without_writing(home, make_bars, write_csv):
    assert [(one.name, one.registered) for one in list_datasets(home)] == [
        ("us-large-caps", False),
        ("planted-edge", False),
    ]
    assert not home.exists()
    unregistered = list_datasets(home)[1]
    open_dataset("planted-edge", home)
    dataset = open_dataset(write_csv(make_bars(2_000, symbol="AAA"), symbols=True), home)
    listed = list_datasets(home)
    assert [one.registered for one in listed] == [False, True, True]
    assert listed[1] == replace(unregistered, registered=True)
    assert (listed[2].name, listed[2].symbols, listed[2].bars) == (dataset.name, ("AAA",), 2_000)
    assert listed[2].validation_stop.timestamp() == dataset.split.validation_stop


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("manifest.json", lambda data: data[:-20]),
        ("manifest.json", lambda data: data.replace(b'"format": 1', b'"format": 99')),
        ("manifest.json", lambda data: data.replace(b'"name": "planted-edge"', b'"name": "other"')),
        ("manifest.json", lambda data: data.replace(b'"bars_per_year"', b'"bars_per_moon"')),
        ("manifest.json", lambda data: b"[]"),
        ("manifest.json", lambda data: b"\xff"),
        ("search.npz", lambda data: data[:-1] + b"x"),
        ("search.npz", lambda data: b""),
    ],
)
def test_a_damaged_set_is_refused_with_the_way_out(home, file, damage):
    open_dataset("planted-edge", home)
    path = home / "data" / "planted-edge" / file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        DataError, match=rf"{file} is damaged or from another version .*move the folder .* away"
    ) as caught:
        open_dataset("planted-edge", home)
    assert "\n" not in str(caught.value)


def test_arrays_that_would_need_pickle_are_refused(home):
    """Even when somebody made the manifest fit."""
    open_dataset("planted-edge", home)
    folder = home / "data" / "planted-edge"
    np.savez(folder / "search.npz", ts0=np.array([{}], dtype=object))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = catalog.file_digests((folder / "search.npz").read_bytes(), b"")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"search.npz is damaged"):
        open_dataset("planted-edge", home)


def test_another_edition_of_the_built_in_data_is_refused(home):
    open_dataset("planted-edge", home)
    path = home / "data" / "planted-edge" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["source"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"planted-edge was registered .* from another edition"):
        open_dataset("planted-edge", home)


def test_a_set_that_was_never_registered_has_no_vault(home):
    with pytest.raises(DataError, match=r"no data set 'us-large-caps' is registered"):
        open_vault("us-large-caps", home)
    with pytest.raises(DataError, match=r"no data set '../../etc' is registered"):
        open_vault("../../etc", home)


def test_a_home_that_cannot_hold_data_is_refused(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(DataError, match=r"data cannot be registered in .*choose another TRIGATE_HOME"):
        open_dataset("planted-edge", tmp_path / "home")


def test_remains_of_an_interrupted_registration_are_removed(home):
    remains = home / "data" / ".new-abc"
    remains.mkdir(parents=True)
    (remains / "search.npz").write_bytes(b"half")
    assert [one.registered for one in list_datasets(home)] == [False, False]
    open_dataset("planted-edge", home)
    assert not remains.exists()


def _open(path, home, results):
    results.put((os.getpid(), open_dataset(path, home).sha256))


def test_processes_that_register_at_once_get_the_same_set(home, make_bars, write_csv):
    path = write_csv(make_bars(2_000))
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    for source in (path, "planted-edge"):
        children = [context.Process(target=_open, args=(source, home, results)) for _ in range(4)]
        for child in children:
            child.start()
        found = dict(results.get() for _ in children)
        for child in children:
            child.join()
        assert len(found) == 4
        assert set(found.values()) == {open_dataset(source, home).sha256}
    assert len(list((home / "data").glob("[!.]*"))) == 2


def test_a_moved_home_still_opens(home, tmp_path, make_bars, write_csv):
    path = write_csv(make_bars(2_000))
    dataset = open_dataset(path, home)
    shutil.move(home, tmp_path / "elsewhere")
    assert open_dataset(path, tmp_path / "elsewhere").sha256 == dataset.sha256
    assert read_file(path).between(0, 1_400).sha256 == dataset.bars[dataset.symbols[0]].sha256


def both(make_bars, count=2_000):
    return make_bars(count, symbol="AAA"), make_bars(count, symbol="BBB", seed=2)


def test_a_file_with_several_symbols_is_added_as_one_set(home, make_bars, write_csv):
    path = write_csv(*both(make_bars), symbols=True)
    added = add_file(path, home, FileRequest(name="pair"))
    assert (added.name, added.outcome, added.new_bars) == ("pair", "registered", 4_000)
    dataset = open_dataset("pair", home)
    assert dataset.symbols == ("AAA", "BBB")
    assert {len(one) for one in dataset.bars.values()} == {1_400}
    assert open_dataset(path, home).name == "pair"


def test_one_symbol_of_an_added_file_keeps_the_split_of_the_whole(home, make_bars, write_csv):
    """Otherwise the file would have two vaults, and one would lie in the other's search part."""
    first, second = make_bars(2_000, symbol="AAA"), make_bars(1_500, symbol="BBB", seed=2)
    path = write_csv(first, second, symbols=True)
    add_file(path, home, FileRequest(name="pair"))
    narrow = open_dataset(path, home, symbol="BBB")
    assert (narrow.name, narrow.symbols, narrow.split) == ("pair", ("BBB",), open_dataset("pair", home).split)
    with pytest.raises(DataError, match="has no symbol 'CCC'"):
        open_dataset(path, home, symbol="CCC")


def test_added_again_a_file_is_unchanged_grown_or_refused(home, make_bars, write_csv):
    first, second = both(make_bars)
    shorter = [one.between(0, 1_900) for one in (first, second)]
    request = FileRequest(name="pair")
    add_file(write_csv(*shorter, symbols=True), home, request)
    search = open_dataset("pair", home).sha256
    assert add_file(write_csv(*shorter, symbols=True), home, request).outcome == "unchanged"
    grown = add_file(write_csv(first, shorter[1], symbols=True, name="elsewhere.csv"), home, request)
    assert (grown.outcome, grown.new_bars) == ("grown", 100)
    assert open_dataset("pair", home).sha256 == search
    assert len(open_vault("pair", home).bars["AAA"]) == len(open_vault("pair", home).bars["BBB"]) + 100
    changed = replace(second, close=np.where(np.arange(2_000) == 700, second.open, second.close))
    with pytest.raises(DataError, match=r"was registered as pair and has changed since, from the bar of .* on of BBB"):
        add_file(write_csv(first, changed, symbols=True), home, request)
    with pytest.raises(
        DataError, match=r"holds AAA and pair was registered with AAA, BBB; a registered set keeps its symbols"
    ):
        add_file(write_csv(first, symbols=True), home, request)


def test_the_same_bars_do_not_get_a_second_name(home, make_bars, write_csv):
    path = write_csv(make_bars(2_000))
    name = open_dataset(path, home).name
    with pytest.raises(DataError, match=f"'prices.csv' is already registered, as {name}; a second name"):
        add_file(path, home, FileRequest(name="mine"))
    assert add_file(path, home, FileRequest()).outcome == "unchanged"


@pytest.mark.parametrize("name", ["", "Mine", "a b", "../up", "x" * 101, ".hidden", "us-large-caps"])
def test_a_name_that_cannot_be_a_sets_is_refused_before_the_file_is_read(home, tmp_path, name):
    with pytest.raises(DataError, match=r"write 1 to 100 small letters|belongs to a built-in"):
        add_file(tmp_path / "absent.csv", home, FileRequest(name=name))


def test_a_set_has_one_timeframe(home, make_bars, write_csv):
    path = write_csv(make_bars(2_000, symbol="AAA"), make_bars(2_000, symbol="BBB", step_s=3_600), symbols=True)
    with pytest.raises(DataError, match=r"the symbols have different timeframes \(AAA 1d, BBB 1h\); a set has one"):
        add_file(path, home, FileRequest(name="mixed"))
    assert add_file(path, home, FileRequest(name="one", symbol="BBB")).new_bars == 2_000


def test_a_file_can_be_added_as_longer_bars_and_grow_as_such(home, make_bars, write_csv):
    hourly = make_bars(24 * 1_200, step_s=3_600)
    four = Timeframe.parse("4h")
    request = FileRequest(name="slow", resample_to=four)
    add_file(write_csv(hourly.between(0, 24 * 1_100 + 3)), home, request)
    assert open_dataset("slow", home).timeframe == four
    grown = add_file(write_csv(hourly), home, request)
    assert (grown.outcome, grown.new_bars) == ("grown", 600)
    joined = resample(hourly, four).bars
    assert (
        open_dataset("slow", home).bars["prices"].sha256
        == joined.between(0, len(open_dataset("slow", home).bars["prices"])).sha256
    )
    (summary,) = [each for each in list_datasets(home) if each.name == "slow"]
    assert summary.origin.endswith("prices.csv, resampled from 1h")


def test_longer_bars_of_a_file_do_not_stand_in_for_the_file_itself(home, make_bars, write_csv):
    path = write_csv(make_bars(8_000))
    weeks = FileRequest(resample_to=Timeframe.parse("1w"))
    first = add_file(path, home, weeks)
    daily = open_dataset(path, home)
    assert (str(daily.timeframe), daily.name == first.name) == ("1d", False)
    assert open_dataset(path, home, symbol="prices").timeframe == daily.timeframe
    assert add_file(path, home, weeks) == replace(first, outcome="unchanged", new_bars=0)
    assert add_file(path, home, FileRequest()).name == daily.name


def test_a_stated_calendar_is_kept(home, make_bars, write_csv):
    path = write_csv(make_bars(2_000))
    add_file(path, home, FileRequest(name="always", calendar=find_calendar("around-the-clock")))
    (summary,) = [each for each in list_datasets(home) if each.name == "always"]
    assert summary.origin.endswith("prices.csv, calendar around-the-clock")
    assert open_dataset("always", home).bars["prices"].instrument.bars_per_year == 365
    with pytest.raises(DataError, match="calendar us-equities has 1764 bars of 1h"):
        add_file(
            write_csv(make_bars(2_000, step_s=3_600), name="h.csv"),
            home,
            FileRequest(calendar=find_calendar("us-equities")),
        )
