"""What the stores promise holds on SQLite and on PostgreSQL: exact values, one result per place, one writer at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from evolution.ledger import LedgerError, TrialLedger, UnknownIdError
from evolution.run import GenerationSummary, RunFacts, RunStatus
from evolution.trial import TrialOutcome
from runtime.source import StrategySource
from runtime.store import StoreError, open_engine, reading, writing

SEED = 2**90 + 1
FACTS = RunFacts(
    seed=SEED,
    plan={"generations": 3, "rate": 0.1 + 0.2},
    dataset="d",
    dataset_sha256="d" * 64,
    config_hash="c" * 64,
    engine_version="1",
    note="NUL \0, half a surrogate \udcff, \u202e and ü",
)
MOMENT = datetime(2026, 12, 1, 3, 4, 5, 678_901, tzinfo=timezone(timedelta(hours=5)))


@pytest.fixture
def engine(tmp_path, database_url):
    opened = open_engine(tmp_path, database_url)
    yield opened
    opened.dispose()


@pytest.fixture
def ledger(engine):
    return TrialLedger(engine, now=lambda: MOMENT)


def test_a_run_comes_back_exactly(ledger):
    record = ledger.start_run(FACTS)
    assert ledger.run(record.id).facts == FACTS
    assert ledger.run(record.id).created == MOMENT
    assert ledger.run(record.id).created.utcoffset() == timedelta(0)
    ledger.tell(record.id, part={"x": [1, None]})
    assert ledger.finish_run(record.id, RunStatus.FINISHED).story == {"part": {"x": [1, None]}}
    assert ledger.start_run(FACTS).id == record.id[:-3] + "002"
    for prefix in ("r-%", "r-2026120", "", "R-"):
        with pytest.raises(UnknownIdError):
            ledger.run(prefix)


def test_a_trial_comes_back_exactly_and_is_never_rewritten(ledger, told):
    run = ledger.start_run(FACTS).id
    first = told(0, run=run, sharpe=0.1 + 0.2, calmar=5e-324, reason="NUL \0 and \udcff")
    first = replace(first, candidate=replace(first.candidate, source=StrategySource(bytes(range(256)))))
    other = told(1, run=run, outcome=TrialOutcome.FAILED, scorecard=None, behaviour=None)
    assert ledger.add_trials([first, other]) == 2
    assert ledger.add_trials([replace(first, cpu_s=9.0)]) == 0
    assert ledger.trials(run) == (first, other)
    with pytest.raises(LedgerError, match="trials are never rewritten"):
        ledger.add_trials([replace(first, reason="another one")])
    ledger.add_generation(run, GenerationSummary(generation=0, hypervolume=1 / 3, counts={"scored": 1}))
    ledger.add_generation(run, GenerationSummary(generation=0, hypervolume=2 / 3, counts={"scored": 1}))
    assert [each.hypervolume for each in ledger.generations(run)] == [2 / 3]
    (listing,) = ledger.runs()
    assert listing.funnel.outcomes[TrialOutcome.FAILED] == 1
    found = ledger.recall(first.candidate.source, dataset_sha256="d" * 64, config_hash="c" * 64, engine_version="1")
    assert found == first


def test_a_broken_promise_writes_nothing(engine, ledger):
    with pytest.raises(IntegrityError), writing(engine) as session:
        session.execute(text("INSERT INTO generation VALUES ('no-such-run', 0, NULL, '{}', '2026-11-30')"))
    with pytest.raises(ZeroDivisionError), writing(engine) as session:
        raise ZeroDivisionError(session.execute(text("INSERT INTO source VALUES ('a', 'python', '')")))
    with pytest.raises(StoreError), reading(engine) as session:
        session.execute(text("SELECT * FROM lost"))
    with reading(engine) as session:
        assert session.scalar(text("SELECT count(*) FROM source")) == 0


def test_what_a_process_reads_before_it_writes_is_still_true_when_it_writes(tmp_path, engine, database_url):
    """Two processes begin runs at once; ids count up, and each is the last one's successor."""
    code = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from evolution.ledger import TrialLedger
from evolution.run import RunFacts
from runtime.store import open_engine
engine = open_engine(Path(sys.argv[1]), sys.argv[2] or None)
ledger = TrialLedger(engine, now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
facts = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="d", config_hash="c", engine_version="1")
print(*(ledger.start_run(facts).id for _ in range(5)))
"""
    command = [sys.executable, "-c", code, str(tmp_path), database_url or ""]
    root = Path(__file__).parents[2]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    said = [process.communicate(timeout=300)[0].split() for process in processes]
    assert sorted(chain.from_iterable(said)) == [f"r-20261201-{number:03d}" for number in range(1, 11)]


@pytest.mark.slow
def test_a_server_that_is_away_is_waited_for_and_its_password_never_told(tmp_path, postgres, caplog):
    url = postgres.database()
    engine = open_engine(tmp_path, url)
    ledger = TrialLedger(engine, now=lambda: datetime.now(UTC))
    postgres.stop()
    come_back = threading.Timer(1.0, postgres.start)
    try:
        with pytest.raises(StoreError, match=r"postgres:\*\*\*@") as caught:
            open_engine(tmp_path, url)
        assert "hunter2" not in str(caught.value)
    finally:
        come_back.start()
    run = ledger.start_run(FACTS)
    come_back.join()
    assert ledger.run(run.id) == run
    assert "is away, waiting for it" in caplog.text
    assert "hunter2" not in caplog.text
    engine.dispose()
