"""Run by Alembic only: applies the revisions on the connection that ``runtime.store`` hands over."""

from alembic import context

attributes = context.config.attributes
context.configure(connection=attributes["connection"], version_table=attributes["version_table"])
with context.begin_transaction():
    context.run_migrations()
