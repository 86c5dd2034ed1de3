"""Nothing but promotion can open the vault: by the words in the source, and by a night whose vault is garbage."""

from __future__ import annotations

import ast
import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evolution.pool import entry_document, run_document
from evolution.report import render_markdown, render_text
from flows.admission import admit_finalists
from flows.order import Order
from flows.settings import Settings
from flows.start import open_night
from flows.watch import SilentWatch
from runtime.market import DataError, open_dataset, open_vault
from runtime.market.catalog import VAULT_FILE

ROOT = Path(__file__).parents[2]
PACKAGES = ("runtime", "gates", "fitness", "evolution", "flows")

# Which modules may speak of what. Whoever adds to this list opens a way to bars that no search may see.
DOORS = {
    # The one function that reads the vault, its face, its one caller, and the promotion that is handed it.
    "open_vault": {
        "runtime/market/vault.py",
        "runtime/market/__init__.py",
        "flows/opening.py",
        "flows/deciding.py",
        "evolution/pool/promotion.py",
        "evolution/pool/store.py",
    },
    # Import of new bars compares and appends; it shows nothing to anybody.
    "whole_bars": {"runtime/market/vault.py", "runtime/market/__init__.py", "runtime/market/feeds/collect.py"},
    "VAULT_FILE": {"runtime/market/catalog.py", "runtime/market/vault.py", "runtime/market/registration.py"},
    "vault_cells": {"runtime/market/split.py", "runtime/market/vault.py"},
    "vault.npz": {"runtime/market/catalog.py"},
}


def words_of(path):
    """Names, attributes, imported names and string constants of a module; docstrings are no way to a file."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.FunctionDef(name=word):
                yield word
            case ast.keyword(arg=str(word)):
                yield word
            case ast.alias(name=word):
                yield word.rpartition(".")[2]
            case ast.Constant(value=str(word)) if id(node) not in docstrings:
                yield from (door for door in DOORS if door in word)


def modules():
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_only_the_listed_modules_speak_of_the_vaults_doors():
    found = {door: set() for door in DOORS}
    for path in modules():
        for word in set(words_of(path)) & set(DOORS):
            found[word].add(path.relative_to(ROOT).as_posix())
    strangers = {door: sorted(found[door] - allowed) for door, allowed in DOORS.items()}
    assert strangers == {door: [] for door in DOORS}
    # The list is no longer than it has to be.
    assert {
        door: sorted(allowed - found[door] - {"runtime/market/__init__.py"}) for door, allowed in DOORS.items()
    } == {door: [] for door in DOORS}


def test_only_the_desk_takes_the_vault_from_the_opening():
    takers = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "flows.opening"
            and "vault" in {a.name for a in node.names}
        )
        or (isinstance(node, ast.Attribute) and node.attr == "vault" and ast.unparse(node.value).endswith("opening"))
    }
    assert takers == {"flows/deciding.py"}


def night_of(home, monkeypatch):
    """A small night without Prefect, and everything that it leaves for anybody to read."""
    monkeypatch.setattr("flows.start.now", lambda: datetime(2026, 11, 30, tzinfo=UTC))
    settings = Settings.model_validate({"data": "planted-edge", "workers": 2, "search": {"admissions": 2}})
    order = Order(data="planted-edge", generations=2, population=8, crossover_rate=0.3, llm_share=0.0, seed=3)
    with open_night(settings, home, SilentWatch(), order) as night:
        while night.search.end is None:
            for candidate in night.breed():
                night.try_candidate(candidate)
            night.close_generation()
        admit_finalists(night)
    summary = night.summary()
    trials = night.ledger.trials(night.run_id)
    timeless = run_document(summary.record, summary.funnel, trials)
    for trial in timeless["trials"]:
        del trial["cpu_s"], trial["wall_s"]
    return {
        "run": timeless,
        "refusals": night.pool.refusals(night.run_id),
        "entries": [entry_document(entry) for entry in summary.entries],
        "text": render_text(summary),
        "markdown": render_markdown(summary),
    }


@pytest.mark.slow
def test_a_night_with_a_vault_of_garbage_is_the_same_night(tmp_path, monkeypatch):
    whole, garbled = tmp_path / "whole", tmp_path / "garbled"
    open_dataset("planted-edge", whole)
    shutil.copytree(whole, garbled)
    vault = garbled / "data" / "planted-edge" / VAULT_FILE
    vault.write_bytes(random.Random(1).randbytes(vault.stat().st_size))
    with pytest.raises(DataError, match="damaged"):
        open_vault("planted-edge", garbled)

    first, second = night_of(whole, monkeypatch), night_of(garbled, monkeypatch)
    assert first == second
    # It was a night with something to tell, and it came as far as validation.
    assert first["entries"] or any(each.check.startswith("validation") for each in first["refusals"])


@pytest.mark.slow
def test_commands_on_a_registered_set_do_not_need_its_vault(trigate):
    open_dataset("planted-edge", trigate.home)
    (trigate.home / "data" / "planted-edge" / VAULT_FILE).unlink()
    seed = ROOT / "evolution" / "seeds" / "breakout.py"
    done = trigate.run("backtest", seed, "--data", "planted-edge", "--json")
    assert done.code == 0, done.out
    end = open_dataset("planted-edge", trigate.home).split.validation_stop
    assert all(datetime.fromisoformat(fill["ts"]).timestamp() < end for fill in done.document["fills"])
    assert trigate.run("data", "show", "planted-edge").code == 0
