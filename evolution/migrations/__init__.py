"""The history of the database schema, one file per revision in ``versions``.

Revisions are written out by hand and never import ``evolution.tables``: a revision describes the schema as it was on
its day. Files are named ``<revision>_<what>.py`` with a four-digit revision that counts up; ``runtime.store`` reads the
newest revision from the names alone. A test holds the migrated schema against the tables' metadata.
"""
