"""``[dask]`` of a machine's ``trigate.toml``: where a cluster is, and why an address must not be used."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator


class DaskSection(BaseModel):
    """``[dask]``: a cluster that tries candidates. Paths and addresses of this machine, so in its ``trigate.toml`` and nowhere else."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduler: Annotated[str, Field(max_length=300)]
    """``tls://host:8786``, or ``tcp://127.0.0.1:8786`` for workers on this machine."""
    ca_file: Path | None = None
    """Certificate of who signed the others; PEM, as for ``dask scheduler --tls-ca-file``."""
    cert_file: Path | None = None
    key_file: Path | None = None

    @model_validator(mode="after")
    def _is_closed(self) -> DaskSection:
        fault = open_door(self.scheduler)
        if fault is not None:
            raise ValueError(f"scheduler {self.scheduler!r} {fault}")
        files = {"ca_file": self.ca_file, "cert_file": self.cert_file, "key_file": self.key_file}
        if self.is_encrypted:
            missing = [name for name, file in files.items() if file is None or not file.is_file()]
            if missing:
                raise ValueError(
                    f"scheduler {self.scheduler!r} needs a certificate on both sides, and there is no file for {', '.join(missing)}"
                )
        return self

    @property
    def is_encrypted(self) -> bool:
        """Whether certificates guard the way."""
        return self.scheduler.startswith("tls://")


def open_door(address: str) -> str | None:
    """Why an address must not be used; None when it may."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or parts.scheme not in {"tls", "tcp"} or parts.path or parts.username:
        return "is no address like tls://host:8786 or tcp://127.0.0.1:8786"
    if parts.scheme == "tls" or _is_this_machine(host):
        return None
    return (
        "is not encrypted, and whoever reaches it runs code here and there: use tls:// with certificates, "
        "or an address of this machine, like tcp://127.0.0.1:8786"
    )


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
