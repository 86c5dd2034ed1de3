"""One-time codes: a person's word on one entry, good for one decision, once, for minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from evolution.pool import (
    Attestation,
    Choice,
    CodeRefused,
    Decided,
    IssuedCode,
    LookFailed,
    NotPossible,
    Promoted,
    PromotionRefused,
    Redeemed,
    keys,
)
from evolution.pool.codes import CodeKey, _key_of
from evolution.pool.keys import KeyFiles


@pytest.fixture
def ada(house, monkeypatch):
    # What makes guessing a passphrase slow makes tests slow.
    monkeypatch.setitem(keys._SCRYPT, "n", 2**10)
    key = KeyFiles(house.home).make("Ada", "correct horse")
    house.pool.people.enrol("Ada", key.public_key)
    return key


def given(house, entry, ada, choice=Choice.PROMOTE, **changes):
    code = house.pool.codes.issue(entry.number, choice, by="ada", signer=ada, **changes)
    assert isinstance(code, IssuedCode), code
    return code


def redeemed(house, entry, code, choice=Choice.PROMOTE):
    found = house.pool.codes.redeem(entry.number, choice, code.text)
    assert isinstance(found, Redeemed), found
    return found


def refusal(house, entry, text, choice=Choice.PROMOTE):
    found = house.pool.codes.redeem(entry.number, choice, text)
    assert isinstance(found, CodeRefused), found
    return found.reason


def test_a_code_promotes_in_its_persons_name_and_the_log_proves_it(house, ada):
    entry = house.add_entry()
    good = redeemed(house, entry, given(house, entry, ada))
    done = house.promote(entry, by=good.by, signer=good.signer)
    assert isinstance(done, Promoted)
    assert (done.decision.by, done.decision.attestation) == ("Ada", Attestation.CODE.value)
    report = house.pool.verify_chain()
    assert (report.problem, report.signed) == (None, 1)


def test_a_code_for_a_promotion_also_stands_behind_a_look_that_failed(house, ada, scripted):
    entry = house.add_entry()
    good = redeemed(house, entry, given(house, entry, ada))
    assert isinstance(house.promote(entry, scripted(vault=-0.6), by=good.by, signer=good.signer), LookFailed)
    assert house.pool.verify_chain().problem is None


def test_a_code_declines(house, ada):
    entry = house.add_entry()
    good = redeemed(house, entry, given(house, entry, ada, Choice.DECLINE), Choice.DECLINE)
    assert isinstance(house.pool.decline(entry.id, by=good.by, reason="no", signer=good.signer), Decided)
    assert house.pool.verify_chain().problem is None


def test_a_code_is_read_as_people_write_it(house, ada):
    entry = house.add_entry()
    code = given(house, entry, ada)
    typed = f"  {code.text.lower().replace('-', ' ').replace('1', 'l').replace('0', 'o')} "
    assert isinstance(house.pool.codes.redeem(entry.number, Choice.PROMOTE, typed), Redeemed)


def test_nothing_in_the_store_is_the_code(house, ada):
    entry = house.add_entry()
    code = given(house, entry, ada)
    house.engine.dispose()
    for file in house.home.glob("trigate.db*"):
        stored = file.read_bytes()
        assert code.text.encode() not in stored
        assert code.text.replace("-", "").encode() not in stored
    assert code.text not in repr(code)


def test_a_code_works_once_even_when_nothing_came_of_it(house, ada):
    entry = house.add_entry()
    code = given(house, entry, ada)
    redeemed(house, entry, code)
    assert "a code works once" in refusal(house, entry, code.text)


def test_what_has_not_the_form_of_a_code_is_told_so(house, ada):
    entry = house.add_entry()
    for typed in ("", "12345", "U" * 25, "\N{GREEK CAPITAL LETTER ALPHA}" * 25, "A" * 10_000, "A" * 26, "\x00" * 25):
        assert refusal(house, entry, typed).startswith("this is no code")


def test_a_code_that_nobody_was_given_is_refused(house, ada):
    assert "never given out" in refusal(house, house.add_entry(), "A" * 25)


def test_a_code_for_one_decision_makes_no_other_and_is_spent_by_trying(house, ada):
    entry = house.add_entry()
    code = given(house, entry, ada, Choice.DECLINE)
    assert "for decline, not for promote" in refusal(house, entry, code.text)
    assert "is spent" in refusal(house, entry, code.text, Choice.DECLINE)
    assert house.pool.get(entry.id).status.value == "candidate"


def test_a_code_for_one_entry_is_worth_nothing_at_another(house, ada):
    one, other = house.add_entry(), house.add_entry(b"# another")
    code = given(house, one, ada)
    assert f"for {one.id}, not for {other.id}" in refusal(house, other, code.text)


def test_a_code_dies_with_its_time_and_no_clock_brings_it_back(house, ada):
    entry = house.add_entry()
    code = given(house, entry, ada)
    issued = house.clock.now
    house.clock.now += timedelta(minutes=16)
    assert "has expired" in refusal(house, entry, code.text)
    house.clock.now = issued
    assert "set the clock right" in refusal(house, entry, code.text)
    house.clock.now += timedelta(hours=2)
    assert "has expired" in refusal(house, entry, code.text)


def test_a_later_code_replaces_an_earlier_one_of_the_same_person_for_the_entry(house, ada):
    entry = house.add_entry()
    first, second = given(house, entry, ada), given(house, entry, ada, Choice.DECLINE)
    assert "replaced by a later one" in refusal(house, entry, first.text)
    redeemed(house, entry, second, Choice.DECLINE)


@pytest.mark.parametrize("minutes", [0, -1, 61])
def test_a_code_lives_for_minutes(house, ada, minutes):
    entry = house.add_entry()
    found = house.pool.codes.issue(
        entry.number, Choice.PROMOTE, by="Ada", signer=ada, lifetime=timedelta(minutes=minutes)
    )
    assert isinstance(found, CodeRefused)


def test_codes_are_for_people_with_keys_and_for_candidates(house):
    entry = house.add_entry()
    nobody = house.pool.codes.issue(entry.number, Choice.PROMOTE, by="Ada", signer=None)
    assert "Ada has no signing key" in nobody.reason
    key = KeyFiles(house.home).make("Ada", "correct horse")
    stranger = house.pool.codes.issue(entry.number, Choice.PROMOTE, by="Ada", signer=key)
    assert "not the one that Ada is enrolled with" in stranger.reason
    house.pool.people.enrol("Ada", key.public_key)
    house.pool.decline(entry.id, by="Ada", reason="no", signer=key)
    late = house.pool.codes.issue(entry.number, Choice.PROMOTE, by="Ada", signer=key)
    assert "is declined" in late.reason


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE decision_code SET choice = 'decline'",
        "UPDATE decision_code SET entry = 2",
        "UPDATE decision_code SET expires = '2030-01-01 00:00:00'",
        "UPDATE decision_code SET config_hash = 'd'",
        "UPDATE decision_code SET signature = '00'",
        'UPDATE decision_code SET "by" = \'"Eve"\'',
        "UPDATE pool_entry SET config_hash = 'd'",
        "UPDATE person SET public_key = '00'",
    ],
)
def test_a_code_whose_paper_was_changed_is_worth_nothing(house, ada, change):
    entry = house.add_entry()
    house.add_entry(b"# another")
    code = given(house, entry, ada)
    with house.engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.execute(text(change))
    choice = Choice.DECLINE if "decline" in change else Choice.PROMOTE
    number = 2 if "entry = 2" in change else 1
    assert isinstance(house.pool.codes.redeem(number, choice, code.text), CodeRefused)


def test_the_key_of_a_code_decides_nothing_before_it_was_shown_or_twice_or_otherwise(house, ada):
    """Whoever calls the pool without redeeming gets no further."""
    entry = house.add_entry()
    code = given(house, entry, ada, Choice.DECLINE)
    key = _key_of(code.text)
    assert isinstance(key, CodeKey)
    early = house.pool.decline(entry.id, by="Ada", reason="no", signer=key)
    assert isinstance(early, NotPossible)
    redeemed(house, entry, code, Choice.DECLINE)
    assert isinstance(house.promote(entry, signer=key), PromotionRefused)
    assert isinstance(house.pool.decline(entry.id, by="Eve", reason="no", signer=key), NotPossible)
    other = house.add_entry(b"# another")
    assert isinstance(house.pool.decline(other.id, by="Ada", reason="no", signer=key), NotPossible)
    assert isinstance(house.pool.decline(entry.id, by="Ada", reason="no", signer=key), Decided)
    assert isinstance(house.pool.retire(entry.id, by="Ada", reason="no", signer=key), NotPossible)


def test_a_code_of_somebody_whose_key_is_gone_cannot_be_forged_with_another_key(house, ada):
    """Two homes: a key that is called Ada elsewhere signs nothing here."""
    entry = house.add_entry()
    (house.home / "second").mkdir()
    stranger = KeyFiles(house.home / "second").make("Ada", "correct horse")
    found = house.pool.codes.issue(entry.number, Choice.PROMOTE, by="Ada", signer=stranger)
    assert isinstance(found, CodeRefused)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE decision SET reason = '\"better\"'", "was changed after it was made"),
        ("DELETE FROM decision_code", "with a code that nobody was given"),
        ("UPDATE decision_code SET choice = 'decline'", "not what its code was given out for"),
        ("UPDATE decision_code SET signature = '00'", "was changed after it was signed"),
        ("UPDATE decision_code SET spent = expires, expires = issued", "not what its code was given out for"),
        ("UPDATE person SET public_key = '00'", "made with a key that Ada is not enrolled with"),
        ("UPDATE decision SET signature = '00'", "is not valid"),
    ],
)
def test_a_decision_by_code_that_was_tampered_with_is_found_and_named(house, ada, change, sentence):
    entry = house.add_entry()
    good = redeemed(house, entry, given(house, entry, ada))
    assert isinstance(house.promote(entry, by=good.by, signer=good.signer), Promoted)
    with house.engine.begin() as connection:
        connection.execute(text(change))
    assert sentence in house.pool.verify_chain().problem
