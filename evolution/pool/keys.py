"""Signing keys of people: Ed25519, sealed under a passphrase, one file each below the home folder.

The passphrase is stretched with scrypt (128 MiB, about half a second), and the key sealed with ChaCha20-Poly1305. What this does
not stop: somebody who can read the file may try passphrases at that price, and somebody who can watch this process sees the key.

SigningError             a key cannot be used; the text is one sentence
  WrongPassphraseError   the file is whole, the passphrase is another one
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_FORMAT = "trigate-key/1"
_SCRYPT = {"n": 2**17, "r": 8, "p": 1}
SHORTEST_PASSPHRASE = 8


class SigningError(Exception):
    """A key is missing, damaged or cannot be written; the text is one sentence for people."""


class WrongPassphraseError(SigningError):
    """The passphrase does not open the key. Nothing was signed."""


def name_key(name: str) -> str:
    """What two spellings of the same name have in common: case, width and spaces do not make another person."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class SigningKey:
    """An opened key. Keep it as short as possible."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @property
    def public_key(self) -> str:
        """32 bytes as hex; what signatures are checked with."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Signature of a message, as hex."""
        return self._key.sign(message).hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public_key[:12]})"


def key_from_seed(seed: bytes) -> Ed25519PrivateKey:
    """The key that 32 bytes stand for (RFC 8032)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - slow to load

    return Ed25519PrivateKey.from_private_bytes(seed)


def is_signed(public_key: str, message: bytes, signature: str) -> bool:
    """Whether a signature of a message was made with the private half of a key; False also for what is no key or signature."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - slow to load, and rarely needed
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - see above

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """The sealed keys below one home folder: ``<home>/people/<digest of the name>.json``, mode 0600."""

    home: Path

    def path(self, name: str) -> Path:
        """Where somebody's key is, or would be."""
        return self.home / "people" / f"{hashlib.sha256(name_key(name).encode()).hexdigest()[:16]}.json"

    def make(self, name: str, passphrase: str) -> SigningKey:
        """A new key for somebody, sealed and written.

        Raises:
            SigningError: the passphrase is too short, there is a key already, or the folder cannot be written.
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - slow to load

        if len(passphrase) < SHORTEST_PASSPHRASE:
            raise SigningError(
                f"the passphrase has {len(passphrase)} characters; at least {SHORTEST_PASSPHRASE} are needed"
            )
        key = SigningKey(Ed25519PrivateKey.generate())
        path = self.path(name)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # O_EXCL: a key that is there is never written over, for signatures hang on it.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(_sealed(key, name, passphrase), file)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise SigningError(
                f"key file {path}: there is one for {name!r} already; move it away to make another"
            ) from None
        except OSError as error:
            raise SigningError(f"key file {path}: {error.strerror or error}; make room or rights") from error
        return key

    def open(self, name: str, passphrase: str) -> SigningKey:
        """Somebody's key, unsealed.

        Raises:
            WrongPassphraseError: the passphrase does not open it.
            SigningError: there is none on this machine, or the file is damaged.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - slow to load, and rarely needed
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - see above

        path = self.path(name)
        try:
            document = _of_this_format(json.loads(path.read_bytes()))
            sealed, nonce, salt = (bytes.fromhex(document[field]) for field in ("sealed", "nonce", "salt"))
            public = str(document["public_key"])
            cipher = _cipher(passphrase, salt)
        except FileNotFoundError:
            raise SigningError(
                f"key file {path}: {name!r} has no key on this machine; bring the file, or enrol here"
            ) from None
        except OSError as error:
            raise SigningError(f"key file {path}: {error.strerror or error}; mend its rights") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SigningError(f"key file {path}: is damaged ({error}); restore a backup") from error
        try:
            raw = cipher.decrypt(nonce, sealed, _bound_to(name, public))
        except InvalidTag:
            raise WrongPassphraseError(
                f"the passphrase does not open the key of {name!r}; nothing was signed"
            ) from None
        return SigningKey(Ed25519PrivateKey.from_private_bytes(raw))


def _of_this_format(document: dict[str, str]) -> dict[str, str]:
    if document["format"] != _FORMAT:
        raise ValueError(f"format {document['format']!r}")
    return document


def _sealed(key: SigningKey, name: str, passphrase: str) -> dict[str, str]:
    salt, nonce = os.urandom(16), os.urandom(12)
    public = key.public_key
    raw = key._key.private_bytes_raw()  # noqa: SLF001 - sealing is part of the key's own module
    return {
        "format": _FORMAT,
        "name": name,
        "public_key": public,
        "salt": salt.hex(),
        "nonce": nonce.hex(),
        "sealed": _cipher(passphrase, salt).encrypt(nonce, raw, _bound_to(name, public)).hex(),
    }


def _cipher(passphrase: str, salt: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: PLC0415 - slow to load
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt  # noqa: PLC0415 - slow to load

    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return ChaCha20Poly1305(Scrypt(salt=salt, length=32, **_SCRYPT).derive(secret))


def _bound_to(name: str, public_key: str) -> bytes:
    """A key that was copied to another name does not open there."""
    return json.dumps([_FORMAT, name_key(name), public_key]).encode()
