"""The record of every attempt to reach a model, one JSON line each, in the run's own folder."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.llm import CallRecord


class CallFile:
    """Appends to ``<home>/runs/<run>/llm-calls.jsonl`` (mode 0600). Each line is on disk before its answer is read.

    Safe for several threads. It holds prompts and answers, so it is for the owner of the run, never for an artifact.
    """

    def __init__(self, home: Path, run_id: str) -> None:
        self.path = home / "runs" / run_id / "llm-calls.jsonl"
        self._lock = threading.Lock()

    def keep(self, record: CallRecord) -> None:
        """Append one record and wait until it is on disk."""
        line = json.dumps(asdict(record), ensure_ascii=True) + "\n"
        with self._lock:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
