"""Keeps what people confirmed about documents: one small file per document hash in the home folder."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import TYPE_CHECKING

from runtime.sir.confirmation import Confirmation

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "confirmed"


def store_confirmation(home: Path, confirmation: Confirmation) -> None:
    """Keep a confirmation; an earlier one of the same document is replaced."""
    folder = home / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{confirmation.document_sha256}.json"
    fresh = folder / f".{confirmation.document_sha256}.{os.getpid()}"
    content = {
        "document_sha256": confirmation.document_sha256,
        "assumptions": list(confirmation.assumptions),
        "at": confirmation.at.isoformat(),
    }
    fresh.write_text(json.dumps(content) + "\n", encoding="utf-8")
    fresh.replace(file)


def stored_confirmation(home: Path, document_sha256: str) -> Confirmation | None:
    """The confirmation of a document; None when there is none. A file that cannot be read confirms nothing."""
    try:
        content = json.loads((home / _FOLDER / f"{document_sha256}.json").read_text(encoding="utf-8"))
        return Confirmation(
            document_sha256=str(content["document_sha256"]),
            assumptions=tuple(str(each) for each in content["assumptions"]),
            at=datetime.fromisoformat(content["at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
