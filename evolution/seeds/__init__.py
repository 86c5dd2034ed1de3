"""The strategies that a search starts from, as files that a person can read, copy and run.

Each file beside this one is a candidate like any other: it goes through the gates and runs only in the cage. Their
names (``Strategy``, ``param``, ...) are injected there, so nobody imports these modules; they are read as bytes.
"""

from evolution.seeds.shelf import DOCUMENT_NAMES, SEED_NAMES, document_sources, seed_sources

__all__ = ["DOCUMENT_NAMES", "SEED_NAMES", "document_sources", "seed_sources"]
