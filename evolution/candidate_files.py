"""Candidates as files for people: ``<home>/runs/<run>/candidates/<id>.py``.

The store holds the truth. The files are there to be read, compared and copied; one that was edited is no longer the
candidate, and reading it back as such is refused.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from pathlib import Path

    from evolution.candidate import Candidate

_SUFFIX = {Language.PYTHON: ".py", Language.SIR: ".json"}
# Ids become path components, so they are held to their alphabet even though we made them ourselves.
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class CandidateFileError(Exception):
    """A candidate's file is missing, changed or cannot be written; the text is one sentence for people."""


@dataclass(frozen=True, slots=True)
class CandidateFiles:
    """The candidate files below one home folder."""

    home: Path

    def path(self, run_id: str, candidate_id: str, language: Language = Language.PYTHON) -> Path:
        """Where a candidate's file is, or would be."""
        for name in (run_id, candidate_id):
            if not _ID.fullmatch(name):
                raise CandidateFileError(f"id {name!r}: lower-case letters, digits and dashes are allowed")
        return self.home / "runs" / run_id / "candidates" / f"{candidate_id}{_SUFFIX[language]}"

    def write(self, candidate: Candidate) -> Path:
        """Write the exact bytes, readable by the owner only. Writing the same candidate again changes nothing.

        Raises:
            CandidateFileError: The folder cannot be written.
        """
        path = self.path(candidate.run_id, candidate.id, candidate.source.language)
        # A half-written file would look edited, so the name appears only when the content is complete.
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(candidate.source.data)
            partial.replace(path)
        except OSError as error:
            raise CandidateFileError(
                f"candidate file {path}: {error.strerror or error}; make room or rights"
            ) from error
        return path

    def read(self, candidate: Candidate) -> StrategySource:
        """Read a candidate's file back, and only if it still is that candidate.

        Raises:
            CandidateFileError: There is no such file, or its hash is not the candidate's.
        """
        path = self.path(candidate.run_id, candidate.id, candidate.source.language)
        try:
            source = StrategySource(path.read_bytes(), candidate.source.language)
        except OSError as error:
            raise CandidateFileError(
                f"candidate file {path}: {error.strerror or error}; the store still has its text"
            ) from error
        if source.sha256 != candidate.source.sha256:
            raise CandidateFileError(
                f"candidate file {path}: its hash is {source.sha256[:12]}, the candidate's is "
                f"{candidate.source.sha256[:12]}; it was edited: copy it elsewhere and check it as a file of your own"
            )
        return source
