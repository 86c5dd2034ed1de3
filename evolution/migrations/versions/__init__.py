"""The revisions; see ``evolution.migrations``."""
