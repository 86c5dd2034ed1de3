"""Where Prefect's server keeps its history: read from the environment, tried before it is used, and its password told to nobody."""

from __future__ import annotations

import pytest

from flows.prefect_database import VARIABLE, named
from flows.problems import EnvironmentProblem, UsageProblem

URL = "postgresql://trigate:se%2Fcret@db.example:5433/history"


def test_without_the_variable_there_is_none():
    assert named({}) is None
    assert named({VARIABLE: ""}) is None


def test_tls_options_are_told_to_prefects_driver_in_its_own_words():
    database = named({VARIABLE: f"{URL}?sslmode=verify-full&sslrootcert=/etc/ca.pem"})
    assert database.server_environment() == {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://trigate:se%2Fcret@db.example:5433/history?ssl=verify-full",
        "PGSSLROOTCERT": "/etc/ca.pem",
    }
    assert database.place == "postgresql://trigate:***@db.example:5433/history"
    assert "cret" not in repr(database)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense", "cannot be read"),
        ("mysql://u:hunter2@h/d", "is no postgresql:// URL"),
        ("postgresql:///d", "with a host and a database"),
        ("postgresql://u:hunter2@h", "with a host and a database"),
        ("postgresql://u:hunter2@h/d?options=-csearch_path", "not 'options'"),
    ],
)
def test_what_cannot_be_used_is_told_without_its_password(text, sentence):
    with pytest.raises(UsageProblem, match=sentence) as caught:
        named({VARIABLE: text})
    assert VARIABLE in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_one_that_does_not_answer_is_told_in_one_sentence_before_anything_starts():
    import socket

    with socket.socket() as taken:  # bound and not listened to: nobody answers, and nobody else comes to
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://u:hunter2@127.0.0.1:{taken.getsockname()[1]}/d"
        with pytest.raises(EnvironmentProblem, match=r"postgresql://u:\*\*\*@127\.0\.0\.1:\d+/d: ") as caught:
            named({VARIABLE: url}).require()
    assert "hunter2" not in str(caught.value)
    assert "unset it to use SQLite" in str(caught.value)


@pytest.mark.slow
def test_one_without_what_prefect_needs_is_told_before_anything_starts(postgres, prefects_postgres):
    """The server of the wheel has no extensions."""
    with pytest.raises(EnvironmentProblem, match="lacks the extension pg_trgm"):
        named({VARIABLE: postgres.database()}).require()
    with pytest.raises(EnvironmentProblem, match='database "lost" does not exist'):
        named({VARIABLE: postgres.database().rsplit("/", 1)[0] + "/lost"}).require()
    if prefects_postgres is not None:
        named({VARIABLE: prefects_postgres.database()}).require()
