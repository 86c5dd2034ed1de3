"""Pool entries: sources that passed admission, and what people decided about them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from evolution.pool.card import AdmissionCard
    from runtime.source import StrategySource


class EntryStatus(Enum):
    """Where an entry stands. The value is the stable name in database and JSON."""

    CANDIDATE = "candidate"
    """Admitted, and waiting for a person."""
    PROMOTED = "promoted"
    """A person promoted it, and it passed its look at the vault."""
    DECLINED = "declined"
    """A person declined it, or it failed its look at the vault. There is no way back."""
    RETIRED = "retired"
    """It was promoted once, and a person took it out of use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a result holds for. When any of it changes, the result says nothing about the new thing."""

    dataset: str
    """Name of the data set."""
    dataset_sha256: str
    """Digest of the part that the search may see."""
    config_hash: str
    engine_version: str

    def difference(self, other: Binding) -> str | None:
        """One clause for the first field that differs; None when the two are equal."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                return f"{field.name.replace('_', ' ')} was {mine[:12]} and is {theirs[:12]} now"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """One source in the pool."""

    number: int
    """Counted from 1 in order of admission."""
    source: StrategySource
    run_id: str
    candidate_id: str
    status: EntryStatus
    score: float
    """Seed score on train."""
    binding: Binding
    models: tuple[str, ...]
    """Language models in its ancestry. A model has read the past, so with any of them the evidence is not blind."""
    card: AdmissionCard
    created: datetime

    @property
    def id(self) -> str:
        """``p-0007``."""
        return entry_id(self.number)


def entry_id(number: int) -> str:
    """The id of an entry.

    >>> entry_id(7)
    'p-0007'
    """
    return f"p-{number:04d}"


class DecisionKind(Enum):
    """What was decided. The value is the stable name in database, JSON and the hash chain."""

    PROMOTED = "promoted"
    FAILED_LOOK = "failed_look"
    """A person asked for promotion, and the look at the vault said no."""
    DECLINED = "declined"
    RETIRED = "retired"
    RESCORED = "rescored"
    """A promoted entry was looked at on bars that had come since, and held."""
    FAILED_RESCORE = "failed_rescore"
    """It did not hold, and is retired."""

    @property
    def status(self) -> EntryStatus:
        """The status that the decision leads to."""
        return _LEADS_TO[self]


_LEADS_TO = {
    DecisionKind.PROMOTED: EntryStatus.PROMOTED,
    DecisionKind.FAILED_LOOK: EntryStatus.DECLINED,
    DecisionKind.DECLINED: EntryStatus.DECLINED,
    DecisionKind.RETIRED: EntryStatus.RETIRED,
    DecisionKind.RESCORED: EntryStatus.PROMOTED,
    DecisionKind.FAILED_RESCORE: EntryStatus.RETIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One line of the decision log."""

    number: int
    """Counted from 1 over all entries, without gaps."""
    entry: int
    """Number of the pool entry."""
    kind: DecisionKind
    by: str
    reason: str
    at: datetime
    source_sha256: str
    binding: Binding
    look: int | None
    """Number of the look at the vault; None where there was none."""
    previous_hash: str
    """Hash of the decision before; 64 zeros for the first one."""
    hash: str
    """Covers everything above (``evolution.pool.decisions``)."""
    attestation: str | None = None
    """What stands behind it (``evolution.pool.people.Attestation``); None for decisions from before there were people."""
    public_key: str | None = None
    """Of the key that signed it, hex."""
    signature: str | None = None
    """Over ``hash``, hex."""
