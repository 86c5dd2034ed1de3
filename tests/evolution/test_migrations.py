"""The history of the schema leads to the tables that the code uses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, inspect, text
from sqlmodel import SQLModel

import evolution.llm.tables  # fills the metadata
import evolution.migrations
import evolution.sharing_tables  # fills the metadata
import evolution.tables  # fills the metadata
import runtime.paper.tables  # noqa: F401 - fills the metadata
from evolution.ledger import TrialLedger
from runtime.store import VERSION_TABLE, _known_revisions, _postgresql_engine, _sqlite_engine, open_engine


def test_the_migrated_schema_is_the_one_of_the_tables(tmp_path, database_url):
    with open_engine(tmp_path, database_url).connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True},
        )
        assert compare_metadata(context, SQLModel.metadata) == []


def test_constraints_that_the_comparison_overlooks_are_there_too(tmp_path):
    """Alembic does not compare primary keys and CHECK constraints, and foreign keys matter enough to be looked at."""
    inspector = inspect(open_engine(tmp_path))
    for name, table in SQLModel.metadata.tables.items():
        assert inspector.get_pk_constraint(name)["constrained_columns"] == [column.name for column in table.primary_key]
        checks = {str(c.sqltext) for c in table.constraints if isinstance(c, CheckConstraint)}
        assert {check["sqltext"] for check in inspector.get_check_constraints(name)} == checks
        foreign = {tuple(c.column_keys) for c in table.foreign_key_constraints}
        assert {tuple(key["constrained_columns"]) for key in inspector.get_foreign_keys(name)} == foreign


def test_file_names_tell_the_same_history_as_the_revisions_inside():
    config = Config()
    config.set_main_option("script_location", evolution.migrations.__path__[0])
    history = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(history)) == _known_revisions("evolution.migrations")


@pytest.mark.parametrize("revision", _known_revisions("evolution.migrations")[:-1])
def test_a_store_of_an_earlier_version_is_brought_up_to_date_with_what_it_holds(tmp_path, database_url, revision):
    old = _sqlite_engine(tmp_path) if database_url is None else _postgresql_engine(database_url)
    config = Config()
    config.set_main_option("script_location", evolution.migrations.__path__[0])
    with old.begin() as connection:
        config.attributes.update(connection=connection, version_table=VERSION_TABLE)
        command.upgrade(config, revision)
        connection.execute(
            text(
                "INSERT INTO run (id, status, seed, plan, dataset, dataset_sha256, config_hash, engine_version, note, created) "
                "VALUES ('r-1', 'failed', :seed, '{}', 'd', 'd', 'c', '1', '\"n\"', '2026-11-30 01:02:03')"
            ),
            {"seed": str(2**90 + 1)},
        )
    old.dispose()
    engine = open_engine(tmp_path, database_url)
    record = TrialLedger(engine, now=lambda: datetime.now(UTC)).reopen_run("r-1")
    assert record.facts.seed == 2**90 + 1
    assert (record.facts.note, record.story) == ("n", {})
    assert record.created.utcoffset() == timedelta(0)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, SQLModel.metadata) == []
    engine.dispose()
