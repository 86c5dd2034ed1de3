"""Prefect's own database: SQLite in the home folder, or a PostgreSQL that ``TRIGATE_PREFECT_DATABASE_URL`` names for the station's server.

The URL holds a password. It reaches the server through its environment, which only its owner can read; it is in no command line, file or
message, and the worker with its flows does not get it. Prefect's driver is another one than the store's (asyncpg), and takes the TLS
options of the usual kind of URL under other names.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from flows.problems import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "TRIGATE_PREFECT_DATABASE_URL"
_FORM = "write postgresql://user:password@host/database, or unset it to use SQLite in the home folder"
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefectDatabase:
    """A PostgreSQL database for Prefect's server. Its repr holds no password, as SQLAlchemy's URL has none in its own."""

    url: URL
    """As the person wrote it, with the plain name of the dialect."""
    tls: str | None
    """``sslmode`` of the URL."""
    root_certificate: str | None
    """``sslrootcert`` of the URL: a file."""

    @property
    def place(self) -> str:
        """For people: no password."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    def server_environment(self) -> dict[str, str]:
        """What the server needs in its environment."""
        query = {"ssl": self.tls} if self.tls else {}
        url = self.url.set(drivername="postgresql+asyncpg", query=query)
        certificate = {"PGSSLROOTCERT": self.root_certificate} if self.root_certificate else {}
        return {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url.render_as_string(hide_password=False), **certificate}

    def require(self) -> None:
        """Try to connect.

        Raises:
            EnvironmentProblem: It does not answer, or does not let us in.
        """
        try:
            has_trigrams = asyncio.run(self._ask())
        except Exception as error:  # noqa: BLE001 - the driver has many ways to say no; each becomes one sentence
            words = " ".join(str(error).split()) or type(error).__name__
            password = self.url.password
            told = words.replace(str(password), "***") if password else words
            raise EnvironmentProblem(
                f"Prefect's database {self.place}: {told}; start it or mend {VARIABLE}, or unset it to use SQLite in the home folder"
            ) from None
        if not has_trigrams:
            raise EnvironmentProblem(
                f"Prefect's database {self.place}: its server lacks the extension pg_trgm, which Prefect needs; install it "
                f"(Debian: postgresql-contrib), or unset {VARIABLE} to use SQLite in the home folder"
            )

    async def _ask(self) -> bool:
        """Whether the server has the extension without which Prefect's tables cannot be made."""
        import asyncpg  # noqa: PLC0415 - only where a database is named

        options: dict[str, Any] = {"ssl": self.tls} if self.tls else {}
        connection = await asyncpg.connect(
            host=self.url.host,
            port=self.url.port,
            user=self.url.username,
            password=self.url.password,
            database=self.url.database,
            timeout=_TIMEOUT_S,
            **options,
        )
        try:
            query = "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'"
            return bool(await connection.fetchval(query))
        finally:
            await connection.close()


def named(environment: Mapping[str, str] = os.environ) -> PrefectDatabase | None:
    """The database that the environment names; None where it names none.

    Raises:
        UsageProblem: It cannot be read as one. The sentence does not repeat it.
    """
    text = environment.get(VARIABLE)
    if not text:
        return None
    try:
        url = make_url(text)
    except ArgumentError:
        raise UsageProblem(f"{VARIABLE}: cannot be read; {_FORM}") from None
    if url.drivername not in {"postgresql", "postgres"} or not url.host or not url.database:
        raise UsageProblem(f"{VARIABLE}: is no postgresql:// URL with a host and a database; {_FORM}")
    strange = sorted(set(url.query) - {"sslmode", "sslrootcert"})
    if strange:
        raise UsageProblem(
            f"{VARIABLE}: Prefect's driver takes sslmode and sslrootcert, and not {strange[0]!r}; leave it out"
        )
    query = {name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()}
    return PrefectDatabase(
        url=url.set(drivername="postgresql"), tls=query.get("sslmode"), root_certificate=query.get("sslrootcert")
    )
