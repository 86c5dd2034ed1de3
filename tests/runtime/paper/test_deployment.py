"""A deployment runs while everything that a person signed still holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from runtime.paper.deployment import Bearer, Expectation, account_of, read_deployment, refusal
from runtime.source import Language, StrategySource

from_other_text = StrategySource(data=b"class Other(Strategy): ...", language=Language.PYTHON)


@pytest.fixture
def bearer(desk):
    source = StrategySource(data=b"class Anything(Strategy): ...", language=Language.PYTHON)
    return Bearer(account="ann", symbol="AAA", source=source, enrolled_key=desk.signed.public_key, engine_version="1")


def test_what_was_signed_may_run(desk, bearer):
    assert refusal(desk.signed, bearer, desk.now()) is None


def test_an_edited_file_another_owner_and_what_is_expired_or_revoked_may_not(desk, bearer):
    signed, now = desk.signed, desk.now()
    edited = replace(bearer, source=from_other_text)
    assert "the file was edited" in refusal(signed, edited, now)
    assert "belongs to Ann, not to account 'bob'" in refusal(signed, replace(bearer, account="bob"), now)
    assert "was good until" in refusal(signed, bearer, now + timedelta(days=31))
    revoked = replace(signed, revoked="by Bob on 2026-12-01: too risky")
    assert "was revoked by Bob" in refusal(revoked, bearer, now)
    assert "is not for 'ZZZ'" in refusal(signed, replace(bearer, symbol="ZZZ"), now)
    assert "signed for engine 1 and this is 2" in refusal(signed, replace(bearer, engine_version="2"), now)
    assert "not enrolled with the key" in refusal(signed, replace(bearer, enrolled_key="00" * 32), now)


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "Bob"},
        {"source_sha256": from_other_text.sha256},
        {"max_notional": 1e12},
        {"entry": "p-0002"},
        {"expectation": Expectation(sharpe=9.0, max_drawdown=0.0)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_signature_covers_every_field(desk, bearer, change):
    forged = replace(desk.signed, deployment=replace(desk.deployment, **change))
    assert "its signature does not hold" in refusal(forged, bearer, desk.now())


def test_the_text_gives_the_same_deployment_back(desk):
    assert read_deployment(desk.deployment.text()) == desk.deployment
    assert desk.book.deployment(desk.deployment.id) == desk.signed


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format":"trigate-deployment/1"}'])
def test_a_damaged_text_is_none(text):
    with pytest.raises(ValueError):
        read_deployment(text)


def test_a_text_with_a_space_too_many_is_none(desk):
    with pytest.raises(ValueError, match="not as it was written"):
        read_deployment(desk.deployment.text() + " ")


def test_every_spelling_of_a_name_is_one_account():
    assert account_of(" ANN\u3000smith") == account_of("Ann  Smith") == "ann smith"
