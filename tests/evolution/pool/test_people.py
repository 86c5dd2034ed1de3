"""Who may decide, and that nobody decides in somebody else's name once there are keys."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import text

from evolution.pool import NotPossible, PersonError, Promoted, PromotionRefused
from evolution.pool.decisions import DecisionError, checked_person
from evolution.pool.keys import SigningKey
from evolution.pool.people import Approval, NoAuthority, approve
from runtime.store import writing


@dataclass
class Keyed:
    """A house in which Ada has a key."""

    house: object
    ada: SigningKey

    def promote(self, by="Ada", signer="ada", **changes):
        chosen = self.ada if signer == "ada" else signer
        return self.house.promote(self.house.add_entry(), by=by, signer=chosen, **changes)


@pytest.fixture
def keyed(house):
    key = SigningKey(Ed25519PrivateKey.generate())
    house.pool.people.enrol("Ada", key.public_key)
    return Keyed(house, key)


def must_not_happen(*_):
    raise AssertionError("the vault was opened")


def edit(house, change):
    with writing(house.engine) as session:
        session.execute(text(change))


def test_while_nobody_has_a_key_deciding_enrols_and_says_that_it_is_unsigned(house):
    first = house.promote(house.add_entry(), by="Ada").decision
    second = house.promote(house.add_entry(), by="ada").decision
    other = house.pool.decline(house.add_entry().id, by="Bob", reason="no").decision
    assert [each.attestation for each in (first, second, other)] == [
        "unsigned, first use",
        "unsigned",
        "unsigned, first use",
    ]
    assert second.by == "Ada"
    assert [(each.name, each.public_key) for each in house.pool.people.list()] == [("Ada", None), ("Bob", None)]
    report = house.pool.verify_chain()
    assert (report.decisions, report.signed, report.problem) == (3, 0, None)


def test_a_signed_decision_carries_a_signature_that_verifies(keyed):
    promoted = keyed.promote()
    assert isinstance(promoted, Promoted)
    decision = promoted.decision
    assert (decision.attestation, decision.public_key) == ("signed", keyed.ada.public_key)
    assert len(decision.signature) == 128
    report = keyed.house.pool.verify_chain()
    assert (report.signed, report.problem) == (1, None)


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        ("Eve", "nobody called Eve is enrolled; trigate people add 'Eve' enrols them with a key"),
        (
            "Adda",
            "nobody called Adda is enrolled; did you mean 'Ada'? trigate people add 'Adda' enrols them with a key",
        ),
        ("Ada", "Ada has a signing key: this decision needs its passphrase"),
    ],
)
def test_once_there_are_keys_nobody_decides_without_one(keyed, by, sentence):
    refused = keyed.promote(by=by, signer=None, open_vault=must_not_happen)
    assert refused == PromotionRefused(reason=sentence)
    entry = keyed.house.add_entry()
    assert keyed.house.pool.decline(entry.id, by=by, reason="no") == NotPossible(reason=sentence)
    assert keyed.house.pool.decisions() == ()


def test_somebody_from_before_the_keys_needs_one_now(house):
    house.promote(house.add_entry(), by="Bob")
    house.pool.people.enrol("Ada", SigningKey(Ed25519PrivateKey.generate()).public_key)
    refused = house.promote(house.add_entry(), by="Bob", open_vault=must_not_happen)
    assert refused.reason == "Bob has no signing key, and decisions are signed here; trigate people add 'Bob' makes one"
    bob = SigningKey(Ed25519PrivateKey.generate())
    house.pool.people.enrol("bob", bob.public_key)
    assert isinstance(house.promote(house.add_entry(), by="Bob", signer=bob), Promoted)
    assert house.pool.verify_chain().problem is None


def test_a_key_decides_in_its_own_name_only(keyed):
    eve = SigningKey(Ed25519PrivateKey.generate())
    keyed.house.pool.people.enrol("Eve", eve.public_key)
    refused = keyed.promote(by="Ada", signer=eve, open_vault=must_not_happen)
    assert refused.reason == "this key is not the one that Ada is enrolled with; see trigate people list"


def test_one_key_stands_for_one_person_and_a_person_keeps_their_key(keyed):
    with pytest.raises(PersonError, match="belongs to Ada already"):
        keyed.house.pool.people.enrol("Bob", keyed.ada.public_key)
    with pytest.raises(PersonError, match="Ada has a signing key already"):
        keyed.house.pool.people.enrol("ADA", SigningKey(Ed25519PrivateKey.generate()).public_key)


# The chain


def test_a_signature_cannot_be_taken_off_or_exchanged(keyed):
    keyed.promote()
    house = keyed.house
    edit(house, "UPDATE decision SET signature = NULL")
    assert house.pool.verify_chain().problem == "decision 1 should be signed and is not"
    edit(house, "UPDATE decision SET signature = '" + "00" * 64 + "'")
    assert house.pool.verify_chain().problem == "the signature of decision 1 is not valid"
    edit(house, "UPDATE decision SET attestation = 'unsigned', signature = NULL, public_key = NULL")
    assert house.pool.verify_chain().problem == "decision 1 was changed after it was made"


def test_another_key_in_the_people_table_does_not_make_an_old_signature_theirs(keyed):
    keyed.promote()
    other = SigningKey(Ed25519PrivateKey.generate()).public_key
    edit(keyed.house, f"UPDATE person SET public_key = '{other}'")
    problem = keyed.house.pool.verify_chain().problem
    assert problem == "decision 1 is signed with a key that Ada is not enrolled with"


def test_a_decision_that_was_added_without_a_signature_is_noticed(keyed, monkeypatch):
    """Somebody with the database, but without a key, computes the chain on."""
    keyed.promote()
    house = keyed.house
    with monkeypatch.context() as forged:
        forged.setattr("evolution.pool.people._rows", lambda _session: [])
        house.pool.decline(house.add_entry().id, by="Eve", reason="mine")
    report = house.pool.verify_chain()
    assert report.problem == "decision 2 is unsigned, and there were signatures before it"
    assert report.signed == 1


def test_decisions_from_before_there_were_people_still_verify(house, monkeypatch):
    """They were hashed without an attestation, and nothing of the kind can follow one that has it."""
    from evolution.pool import decisions

    house.promote(house.add_entry())
    edit(house, "UPDATE decision SET attestation = NULL")
    with writing(house.engine) as session:
        (row,) = session.query(decisions.DecisionRow).all()
        row.hash = decisions._digest(row)
    assert house.pool.verify_chain().problem is None
    house.promote(house.add_entry())
    assert house.pool.verify_chain().problem is None
    edit(house, "UPDATE decision SET attestation = NULL WHERE number = 2")
    with writing(house.engine) as session:
        rows = session.query(decisions.DecisionRow).order_by(decisions.DecisionRow.number).all()
        # As it was before: with the attestation in place, an old-style decision stands after a new one.
        rows[0].attestation = "unsigned, first use"
        rows[0].hash = decisions._digest(rows[0])
        rows[1].previous_hash = rows[0].hash
        rows[1].hash = decisions._digest(rows[1])
    assert house.pool.verify_chain().problem == "decision 2 is unsigned, and there were signatures before it"


# Two parties


def test_a_machine_is_always_another_party():
    assert approve(None, "Ada", single_operator=False) is Approval.SECOND_PARTY
    assert approve("Bob", "Ada", single_operator=False) is Approval.SECOND_PARTY


def test_one_person_approves_their_own_proposal_only_where_that_was_allowed_and_it_shows():
    refused = approve("Ada", "ada ", single_operator=False)
    assert isinstance(refused, NoAuthority)
    assert "single_operator = true" in refused.reason
    assert approve("Ada", "ADA", single_operator=True) is Approval.SELF_APPROVED
    assert Approval.SELF_APPROVED.value == "self-approved"


@pytest.mark.parametrize(
    "name",
    [
        "Ann\ufe0f",
        "An\u034fn",
        "Ann\u3164",
        "\u2800Ann",
        "Ann\U000e0101",
        "A\u180bnn",
        "\u0410nn",
        "Bo\u0431",
        "\u0391nn",
        "An\u057e",
    ],
)
def test_a_name_that_looks_like_another_one_is_no_name(name):
    """Somebody who makes a proposal must not approve it as somebody whom nobody can tell from them."""
    assert name.isprintable()
    with pytest.raises(DecisionError, match=r"does not show|letters in one word"):
        checked_person(name)


@pytest.mark.parametrize(
    "name",
    [
        "Zo\u00eb O'Brien-Smith",
        "\u0418\u0432\u0430\u043d III",
        "\u738b\u5c0f\u660e",
        "\u0391\u03bd\u03bd\u03b1",
        "Jos\u00e9 2",
    ],
)
def test_names_of_people_are_names(name):
    assert checked_person(f" {name} ") == name
