"""Reading pool entries: the queries behind the pool, and rows as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlmodel import col

from evolution.ledger import UnknownIdError
from evolution.pool.card import AdmissionCard, CheckResult, EvidenceNote
from evolution.pool.entry import Binding, EntryStatus, PoolEntry, entry_id
from evolution.rows import source_value
from evolution.tables import PoolEntryRow, SourceRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from evolution.run import RunRecord

# Shorter beginnings of a hash would often fit several entries, and look like an id.
_SHORTEST_HASH = 6


def binding_of(run: RunRecord) -> Binding:
    """What the results of a run hold for."""
    facts = run.facts
    return Binding(
        dataset=facts.dataset,
        dataset_sha256=facts.dataset_sha256,
        config_hash=facts.config_hash,
        engine_version=facts.engine_version,
    )


def entries() -> Select[PoolEntryRow, SourceRow]:
    """Every entry with its source."""
    is_same = (col(SourceRow.sha256) == col(PoolEntryRow.source_sha256)) & (
        col(SourceRow.language) == col(PoolEntryRow.language)
    )
    return select(PoolEntryRow, SourceRow).join(SourceRow, is_same)


def same_source(sha256: str, binding: Binding) -> Select[PoolEntryRow, SourceRow]:
    """The entry of a source under these conditions; there is one at most."""
    return entries().where(
        col(PoolEntryRow.source_sha256) == sha256,
        col(PoolEntryRow.dataset_sha256) == binding.dataset_sha256,
        col(PoolEntryRow.config_hash) == binding.config_hash,
        col(PoolEntryRow.engine_version) == binding.engine_version,
    )


def entry_value(row: PoolEntryRow, source: SourceRow) -> PoolEntry:
    """A row and its source as an entry."""
    assert row.number is not None  # it was flushed
    return PoolEntry(
        number=row.number,
        source=source_value(source),
        run_id=row.run_id,
        candidate_id=row.candidate_id,
        status=EntryStatus(row.status),
        score=row.score,
        binding=Binding(
            dataset=row.dataset,
            dataset_sha256=row.dataset_sha256,
            config_hash=row.config_hash,
            engine_version=row.engine_version,
        ),
        models=tuple(row.models),
        card=AdmissionCard(
            checks=tuple(CheckResult(**check) for check in row.card),
            notes=tuple(EvidenceNote(**note) for note in row.notes or ()),
        ),
        created=row.created,
    )


def find_number(session: Session, id_or_prefix: str) -> int:
    """Number of the one entry that is meant."""
    text = id_or_prefix.strip().lower()
    known = session.execute(select(col(PoolEntryRow.number), col(PoolEntryRow.source_sha256))).all()
    names = {number: (entry_id(number), sha256) for number, sha256 in known if number is not None}
    exact = [number for number, (id_, _) in names.items() if text == id_]
    found = exact or sorted(number for number, (id_, sha256) in names.items() if _begins(text, id_, sha256))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownIdError(f"pool entry {id_or_prefix!r}: there is none; see trigate pool list")
    ids: Sequence[str] = [entry_id(number) for number in found[:5]]
    raise UnknownIdError(f"pool entry {id_or_prefix!r}: fits several ({', '.join(ids)}); write the id in full")


def _begins(text: str, id_: str, sha256: str) -> bool:
    return (text != "" and id_.startswith(text)) or (len(text) >= _SHORTEST_HASH and sha256.startswith(text))
