"""Where the ``trigate`` command begins: before anything else is imported, so that Ctrl-C is quiet from the first moment."""

from __future__ import annotations

import os


def main() -> int:
    """Run the command line; see ``flows.cli.main``."""
    # Threads of the linear algebra library spin while they wait, and candidates fill the processors already.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from flows.cli import main as run  # noqa: PLC0415 - the import is what takes the time
    except KeyboardInterrupt:
        return 130
    return run()
