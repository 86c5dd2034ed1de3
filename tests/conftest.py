"""What all tests share: Hypothesis without deadlines (machines are shared), and a home that is nobody's."""

from __future__ import annotations

import os

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
