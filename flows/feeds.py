"""Feeds of bars over HTTP, as they stand in ``trigate.toml``.

::

    [feeds.crypto]                       [feeds.house]
    dialect = "klines"                   dialect = "json"
    base_url = "https://host"            base_url = "https://host"
    calendar = "around-the-clock"        path = "/v1/bars/{symbol}"
                                         query = { step = "{timeframe}", from = "{start}", to = "{stop}" }
                                         rows = "data.bars"
                                         fields = { timestamp = "t", open = "o", high = "h", low = "l", close = "c", volume = "v" }
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from flows.problems import EnvironmentProblem
from runtime.market import DataError, find_calendar
from runtime.market.feeds import FIELDS, Feed, JsonRows, Klines, Limits, PageStyle, Stamps, unknown_placeholders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.market.feeds import Dialect


class _FeedSection(BaseModel):
    # hide_input_in_errors: somebody may put a key where it does not belong, and an error message must not repeat it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: Annotated[str, Field(max_length=300)]
    """``https://host``, or plain ``http`` to this machine itself; other hosts by ``http`` only without a key."""
    calendar: str | None = None
    """The market's calendar, by name; None infers bars per year and takes days in UTC."""
    requests_per_minute: Annotated[float, Field(gt=0, le=6_000)] = 300.0
    burst: Annotated[int, Field(ge=1, le=100)] = 5
    """Requests that may be sent at once after a pause."""
    page_bars: Annotated[int, Field(ge=2, le=50_000)] = 1_000
    """Bars to ask for in one request."""
    deadline_s: Annotated[float, Field(gt=0, le=86_400)] = 3_600.0
    """Longest time for one fetch; what is missing then is fetched by the same command."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] | None = None
    """Name of the environment variable that holds the key; None for a feed that wants none."""
    key_header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,59}$")] = "authorization"
    """The header that carries the key; in ``authorization`` it is sent as a bearer token."""

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not value.isascii() or " " in value:
            raise ValueError("must be an address like https://host or http://127.0.0.1:8080")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ValueError("must hold no user, password, query or fragment: name the key's variable in key_env")
        _ = parts.port  # raises ValueError with its own sentence
        return value.rstrip("/")

    @field_validator("calendar")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        try:
            return None if value is None else find_calendar(value).name
        except DataError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _keeps_the_key_private(self) -> _FeedSection:
        parts = urlsplit(self.base_url)
        if self.key_env and parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
            raise ValueError("a key must not travel over plain http: use https, or leave key_env out")
        return self

    def protocol(self) -> Dialect:
        """What the feed speaks."""
        raise NotImplementedError

    def feed(self, name: str) -> Feed:
        """The feed without the wire to it."""
        return Feed(
            name=name,
            dialect=self.protocol(),
            calendar=find_calendar(self.calendar) if self.calendar else None,
            limits=Limits(per_minute=self.requests_per_minute, burst=self.burst, deadline_s=self.deadline_s),
        )

    def key(self, environ: Mapping[str, str]) -> SecretStr | None:
        """The key; None for a feed that wants none.

        Raises:
            EnvironmentProblem: its variable is not set, or holds what no header can carry.
        """
        if self.key_env is None:
            return None
        value = environ.get(self.key_env, "").strip()
        if not value or not value.isascii() or not value.isprintable():
            fault = "holds characters that no key has" if value else "is not set"
            raise EnvironmentProblem(
                f"the feed's key is read from the environment variable {self.key_env}, which {fault}"
            )
        return SecretStr(value)

    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What every request carries. Secret: never show it."""
        key = self.key(environ)
        if key is None:
            return {}
        is_bearer = self.key_header.lower() == "authorization"
        return {self.key_header.lower(): ("Bearer " if is_bearer else "") + key.get_secret_value()}


class KlinesSection(_FeedSection):
    """``[feeds.NAME]`` with ``dialect = "klines"``: the protocol that Binance made common."""

    dialect: Literal["klines"]
    path: Annotated[str, Field(pattern=r"^/")] = "/api/v3/klines"

    def protocol(self) -> Klines:
        """Klines at the path."""
        return Klines(path=self.path, page_bars=self.page_bars)


class JsonSection(_FeedSection):
    """``[feeds.NAME]`` with ``dialect = "json"``: any endpoint that answers with a JSON list of bars."""

    dialect: Literal["json"]
    path: Annotated[str, Field(pattern=r"^/")]
    """May hold ``{symbol}`` and the other placeholders of ``query``."""
    query: dict[str, str] = Field(default_factory=dict)
    """Query parameters; values may hold ``{symbol} {timeframe} {start} {stop} {limit} {page} {token}``."""
    rows: str = ""
    """Dotted path to the list of bars in the reply; empty when the reply is the list."""
    fields: dict[str, str] = Field(default_factory=dict)
    """What the endpoint calls timestamp, open, high, low, close and volume, where it calls them otherwise."""
    stamps: Stamps = Stamps.SECONDS
    """``s``, ``ms`` or ``iso``: how moments are written, in rows and in the query."""
    paging: PageStyle = PageStyle.TIME
    """``time``: each page from the last bar on; ``window``: fixed lengths; ``page``: numbers; ``token``: from the reply."""
    next: str = ""
    """Dotted path to the next page's token."""
    newest_first: bool = False
    """Whether rows come in reverse order."""
    timeframes: dict[str, str] = Field(default_factory=dict)
    """What the endpoint calls each timeframe, like ``{ "1h" = "60" }``; empty where it says 1h too."""

    @model_validator(mode="after")
    def _fits_together(self) -> JsonSection:
        unknown = [name for text in (self.path, *self.query.values()) for name in unknown_placeholders(text)]
        if unknown:
            raise ValueError(f"there is no placeholder {{{unknown[0]}}}")
        strange = set(self.fields) - set(FIELDS)
        if strange:
            raise ValueError(f"fields names {min(strange)!r}; a bar has {', '.join(FIELDS)}")
        needs = {PageStyle.TIME: "start", PageStyle.WINDOW: "start", PageStyle.NUMBER: "page", PageStyle.TOKEN: "token"}
        needed = f"{{{needs[self.paging]}}}"
        if not any(needed in text for text in (self.path, *self.query.values())):
            raise ValueError(f"paging {self.paging.value!r} needs {needed} in the query")
        if (self.paging is PageStyle.TOKEN) != bool(self.next):
            raise ValueError("next and paging 'token' belong together")
        return self

    def protocol(self) -> JsonRows:
        """The configured protocol."""
        return JsonRows(
            path=self.path,
            query=self.query,
            rows=self.rows,
            fields={name: self.fields.get(name, name) for name in FIELDS},
            stamps=self.stamps,
            style=self.paging,
            next=self.next,
            newest_first=self.newest_first,
            page_bars=self.page_bars,
            timeframes=self.timeframes,
        )


FeedSection = Annotated[KlinesSection | JsonSection, Field(discriminator="dialect")]
"""One section; which keys it may have depends on its dialect."""


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
