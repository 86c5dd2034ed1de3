"""A sealed key opens with its passphrase, for its person, and with nothing else."""

from __future__ import annotations

import json
import stat

import pytest

from evolution.pool import keys
from evolution.pool.keys import KeyFiles, SigningError, WrongPassphraseError, is_signed, name_key

PASSPHRASE = "correct horse"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """The real cost of a guess is half a second and 128 MiB; a test pays less."""
    monkeypatch.setattr(keys, "_SCRYPT", {"n": 2**10, "r": 8, "p": 1})


@pytest.fixture
def files(tmp_path):
    return KeyFiles(tmp_path)


def test_a_key_comes_back_and_signs(files):
    made = files.make("Ada", PASSPHRASE)
    opened = files.open("Ada", PASSPHRASE)
    assert opened.public_key == made.public_key
    signature = opened.sign(b"hash")
    assert is_signed(made.public_key, b"hash", signature)
    assert not is_signed(made.public_key, b"another hash", signature)
    assert not is_signed(files.make("Bob", PASSPHRASE).public_key, b"hash", signature)


@pytest.mark.parametrize("broken", ["", "zz", "00" * 64])
def test_what_is_no_signature_or_no_key_is_not_valid(files, broken):
    key = files.make("Ada", PASSPHRASE)
    assert not is_signed(key.public_key, b"hash", broken)
    assert not is_signed(broken, b"hash", key.sign(b"hash"))


def test_another_passphrase_is_refused(files):
    files.make("Ada", PASSPHRASE)
    with pytest.raises(WrongPassphraseError, match="does not open the key of 'Ada'; nothing was signed"):
        files.open("Ada", "correct house")


def test_only_its_owner_can_read_the_file_and_it_holds_no_secret_in_clear(files):
    files.make("Ada", PASSPHRASE)
    path = files.path("Ada")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert PASSPHRASE not in path.read_text()
    assert set(json.loads(path.read_text())) == {"format", "name", "public_key", "salt", "nonce", "sealed"}
    assert PASSPHRASE not in repr(files.open("Ada", PASSPHRASE))


def test_a_key_that_was_copied_to_another_name_does_not_open_there(files):
    files.make("Ada", PASSPHRASE)
    files.path("Bob").write_bytes(files.path("Ada").read_bytes())
    with pytest.raises(WrongPassphraseError):
        files.open("Bob", PASSPHRASE)


@pytest.mark.parametrize("field", ["public_key", "salt", "nonce", "sealed"])
def test_a_changed_file_does_not_open(files, field):
    files.make("Ada", PASSPHRASE)
    document = json.loads(files.path("Ada").read_text())
    document[field] = ("0" if document[field][0] != "0" else "1") + document[field][1:]
    files.path("Ada").write_text(json.dumps(document))
    with pytest.raises(SigningError):
        files.open("Ada", PASSPHRASE)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "trigate-key/9"}'])
def test_a_damaged_file_is_named(files, content):
    files.make("Ada", PASSPHRASE)
    files.path("Ada").write_text(content)
    with pytest.raises(SigningError, match="is damaged"):
        files.open("Ada", PASSPHRASE)


def test_a_key_is_never_written_over(files):
    files.make("Ada", PASSPHRASE)
    before = files.path("ada ").read_bytes()
    with pytest.raises(SigningError, match="there is one for 'ADA' already"):
        files.make("ADA", PASSPHRASE)
    assert files.path("Ada").read_bytes() == before


def test_a_short_passphrase_is_refused_and_a_missing_key_is_named(files):
    with pytest.raises(SigningError, match="at least 8"):
        files.make("Ada", "short")
    with pytest.raises(SigningError, match="'Ada' has no key on this machine"):
        files.open("Ada", PASSPHRASE)


def test_spellings_of_one_name_are_one_person():
    assert name_key(" Ada  Lovelace") == name_key("ADA LOVELACE") == name_key("\uff21da\u00a0Lovelace")
    assert name_key("Ada") != name_key("Bob")
