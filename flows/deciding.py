"""Deciding about entries: the one way in which the command line and the review flow promote, re-score and decline.

A look is taken here, in the process of whoever decides, so that process has to run where the vault is. Nothing else in ``flows`` opens one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.candidate_files import CandidateFileError, CandidateFiles
from evolution.ledger import TrialLedger
from evolution.pool import Binding, LookContext, Pool, PromotionRefused
from flows.clock import now
from flows.confirmations import stored_confirmation
from flows.identity import config_hash
from flows.opening import dataset, engine, runner, vault
from runtime.sir.compile import Refused, compile_document
from runtime.sir.confirmation import why_not_promotable
from runtime.source import Language
from runtime.version import ENGINE_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evolution.pool import Decided, NotPossible, PoolEntry, Promotion, Rescore, Signer
    from evolution.pool.runner import CageRunner
    from flows.settings import Settings
    from runtime.market import Bars


class Desk:
    """A pool with everything that a decision is bound to on this machine.

    Args:
        pool: Of the home's store.
        home: The home folder.
        settings: This machine's own; never what a form or a flow parameter says.
    """

    def __init__(self, pool: Pool, home: Path, settings: Settings) -> None:
        self.pool = pool
        self.home = home
        self._settings = settings

    @classmethod
    def open(cls, home: Path, settings: Settings) -> Desk:
        """The desk of a home folder."""
        return cls(Pool(engine(home), now=now), home, settings)

    def edited(self, entry: PoolEntry) -> str | None:
        """Why the entry's file for people is not the entry any more; None when it is, or when there is no file."""
        files = CandidateFiles(self.home)
        if not files.path(entry.run_id, entry.candidate_id, entry.source.language).exists():
            return None
        try:
            ledger = TrialLedger(engine(self.home), now=now)
            files.read(ledger.trial(entry.run_id, entry.candidate_id).candidate)
        except CandidateFileError as error:
            return str(error)
        return None

    def unconfirmed(self, entry: PoolEntry) -> str | None:
        """Why a document cannot be promoted yet: its author assumed something, and nobody has said yes to it."""
        if entry.source.language is not Language.SIR:
            return None
        compiled = compile_document(entry.source.data)
        if isinstance(compiled, Refused):
            return compiled.reason
        return why_not_promotable(compiled.plan, stored_confirmation(self.home, compiled.sha256))

    def obstacle(self, entry: PoolEntry) -> str | None:
        """Why a promotion would be refused whoever asks; nothing is spent, and nobody is asked or enrolled for it."""
        standing = self.edited(entry) or self.unconfirmed(entry)
        if standing is not None:
            return standing
        found = self.pool.obstacle(
            entry, binding=self._binding(entry), open_vault=lambda: vault(entry.binding.dataset, self.home)
        )
        return None if found is None else found.reason

    def promote(self, entry: PoolEntry, *, by: str, reason: str, signer: Signer | None) -> Promotion:
        """Spend one look at the vault on an entry (``Pool.promote``)."""
        unconfirmed = self.unconfirmed(entry)
        if unconfirmed is not None:
            return PromotionRefused(reason=unconfirmed)
        return self.pool.promote(entry.id, by=by, reason=reason, signer=signer, context=self._context(entry))

    def rescore(self, entry: PoolEntry, *, by: str, reason: str, signer: Signer | None) -> Rescore:
        """Spend one look at newer bars on a promoted entry (``Pool.rescore``)."""
        return self.pool.rescore(entry.id, by=by, reason=reason, signer=signer, context=self._context(entry))

    def decline(self, entry: PoolEntry, *, by: str, reason: str, signer: Signer | None) -> Decided | NotPossible:
        """Turn an entry down, for good (``Pool.decline``)."""
        return self.pool.decline(entry.id, by=by, reason=reason, signer=signer)

    def retire(self, entry: PoolEntry, *, by: str, reason: str, signer: Signer | None) -> Decided | NotPossible:
        """Take a promoted entry out of use, for good (``Pool.retire``)."""
        return self.pool.retire(entry.id, by=by, reason=reason, signer=signer)

    def _context(self, entry: PoolEntry) -> LookContext:
        return LookContext(
            binding=self._binding(entry),
            config=self._settings.run_config(),
            open_vault=lambda: vault(entry.binding.dataset, self.home),
            open_runner=self._runner,
        )

    def _binding(self, entry: PoolEntry) -> Binding:
        """Data, configuration and engine as they are now."""
        name = entry.binding.dataset
        return Binding(
            dataset=name,
            dataset_sha256=dataset(name, self.home).sha256,
            config_hash=config_hash(self._settings),
            engine_version=ENGINE_VERSION,
        )

    def _runner(self, _vault: Mapping[str, Bars]) -> AbstractContextManager[CageRunner]:
        # A look is a proof run: its bars stay in this process, and no cage holds any.
        return runner({}, self._settings.cage, self._settings.cage_limits())
