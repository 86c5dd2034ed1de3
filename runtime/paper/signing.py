"""Signatures of paper trading: people's on deployments and approvals are checked here, the runner's on audit lines made.

The runner's key is its own: made on first use, in ``<home>/paper/runner.key`` (mode 0600), not sealed, for nobody is there at night to
unseal it. Whoever can read that file can sign audit lines.

SigningError    the key cannot be used; the text is one sentence
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class SigningError(Exception):
    """The runner's key is damaged or cannot be written."""


def is_signed(public_key: str, message: str, signature: str) -> bool:
    """Whether a signature (hex) was made with the private half of an Ed25519 key (hex); False also for what is neither."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - slow to load
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - see above

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), message.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True, repr=False)
class RunnerKey:
    """The runner's own key."""

    _key: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """32 bytes as hex."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: str) -> str:
        """Signature as hex."""
        return self._key.sign(message.encode()).hex()


def key_path(home: Path) -> Path:
    """Where the runner's key is, or would be."""
    return home / "paper" / "runner.key"


def open_runner_key(home: Path) -> RunnerKey:
    """The runner's key, made when there is none.

    Raises:
        SigningError: it is damaged, or cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - slow to load

    path = key_path(home)
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_once(path, Ed25519PrivateKey.generate().private_bytes_raw().hex())
        return RunnerKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text("ascii"))))
    except OSError as error:
        raise SigningError(f"key file {path}: {error.strerror or error}; mend its rights") from error
    except ValueError as error:
        raise SigningError(
            f"key file {path}: is damaged; restore a backup, for earlier audit lines are checked with it"
        ) from error


def _write_once(path: Path, text: str) -> None:
    """Whole or not at all, and never over another: two runners may start at once."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
