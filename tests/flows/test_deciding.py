"""What stands in the way of a promotion before anybody is asked."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from evolution.pool.promotion import PromotionRefused
from flows.confirmations import store_confirmation
from flows.deciding import Desk
from runtime.sir.compile import compile_document
from runtime.sir.confirmation import Confirmation
from runtime.source import Language, StrategySource

ASSUMING = Path(__file__).parents[1] / "sir_golden" / "plans" / "limit_trailing.json"


def test_a_document_is_promoted_only_when_its_assumptions_are_confirmed(tmp_path):
    source = StrategySource(ASSUMING.read_bytes(), Language.SIR)
    entry, desk = SimpleNamespace(source=source), Desk(None, tmp_path, None)
    assert "assumptions that nobody confirmed (exit)" in desk.unconfirmed(entry)
    refused = desk.promote(entry, by="Ada", reason="steady", signer=None)
    assert isinstance(refused, PromotionRefused)
    assert "nobody confirmed" in refused.reason
    digest = compile_document(source.data).sha256
    store_confirmation(tmp_path, Confirmation(document_sha256=digest, assumptions=("exit",), at=datetime.now(UTC)))
    assert desk.unconfirmed(entry) is None
    changed = json.dumps(json.loads(source.data) | {"name": "Another name"}).encode()
    other = SimpleNamespace(source=StrategySource(changed, Language.SIR))
    assert "nobody confirmed" in desk.unconfirmed(other)


def test_a_python_file_assumes_nothing(tmp_path):
    entry = SimpleNamespace(source=StrategySource(b"class S(Strategy): ..."))
    assert Desk(None, tmp_path, None).unconfirmed(entry) is None
