"""A profile: one model at one endpoint, as it stands in ``trigate.toml`` under ``[llm.NAME]``.

A profile holds everything about an endpoint except its key. The key stays in an environment variable; the profile
only knows the variable's name, so that a profile may be hashed, stored and shown.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from evolution.llm.shape import GRAMMAR_DIALECTS

if TYPE_CHECKING:
    from evolution.llm.usage import Usage

_TOKENS_PER_PRICE_UNIT = 1_000_000
# The first version of Anthropic's protocol that refuses a temperature.
_WITHOUT_TEMPERATURE = "2026-10-21"
# Keys are of mixed case, or have long runs of digits.
_VARIABLE = re.compile(r"(?=.{1,60}$)(?:[A-Z]+[0-9]{0,3})(?:_(?:[A-Z]+[0-9]{0,3}|[0-9]{1,3}))*")
# A part that begins with xn-- must decode, and is worth no check of ours: give the address in numbers.
_HOST = re.compile(
    r"(?!xn--|[^/]*\.xn--)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?"
)
_Seconds = Annotated[float, Field(gt=0, le=3_600)]


class _Value(BaseModel):
    # hide_input_in_errors: somebody may put a key where it does not belong, and an error message must not repeat it.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Timeouts(_Value):
    """How long one call may take. Only ``call_s`` bounds the whole; the others find a dead connection sooner."""

    connect_s: _Seconds = 5.0
    read_s: _Seconds = 300.0
    """Longest silence. An answer that is not streamed comes after one long silence, so this bounds the writing too."""
    write_s: _Seconds = 30.0
    call_s: _Seconds = 600.0
    """From the first attempt to the end of the last one, waiting between them included."""


class Price(_Value):
    """What tokens cost, as the operator read it from the provider's page on ``as_of``."""

    input_per_million: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output_per_million: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    as_of: date

    def cost(self, usage: Usage) -> float:
        """What ``usage`` costs, in ``currency``. Discounts for cached tokens are left out: an upper bound."""
        spent = usage.prompt_tokens * self.input_per_million + usage.completion_tokens * self.output_per_million
        return spent / _TOKENS_PER_PRICE_UNIT


class LlmProfile(_Value):
    """One model at one endpoint.

    >>> LlmProfile(name="local", base_url="http://127.0.0.1:8080/v1", model="any").max_tokens
    4096
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    dialect: Literal["openai_chat", "openai_responses", "anthropic", "llamacpp", "vllm", "ollama"] = "openai_chat"
    """The protocol that the endpoint speaks (``evolution.llm.dialects``). ``openai_chat`` fits most servers;
    ``llamacpp`` and ``vllm`` are the same with constrained output, each in its own way."""
    base_url: Annotated[str, Field(max_length=300)]
    """``https://host/v1``, for ``ollama`` without the ``/v1``; plain ``http`` only without a key, or to this machine."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] | None = None
    """Name of the environment variable that holds the key; None for an endpoint that wants none."""
    max_tokens: Annotated[int, Field(ge=256, le=200_000)] = 4_096
    """Most tokens that one answer may have; reasoning tokens count where the endpoint counts them."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What chat completions call that limit: newer OpenAI models refuse ``max_tokens``, most other servers need it."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """None sends no temperature: some models refuse the field, even at its default."""
    system_role: bool = True
    """False for models that refuse a system message: its text then begins the first question."""
    api_version: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = _WITHOUT_TEMPERATURE
    """Version header; only ``anthropic`` sends one."""
    context_tokens: Annotated[int, Field(ge=1_024)] | None = None
    """Size of the model's window. A question that might not fit in it with its answer is not sent. None means that the
    endpoint itself says so when it is too long; ``ollama``, which does not, needs a figure."""
    constrained: bool = False
    """Hold answers to a grammar of whole strategies while they are decoded. For small models, which write nothing usable
    without it and nothing original with it."""
    mutate_as: Literal["full", "search_replace"] = "full"
    """How a mutation is answered: the whole file, or SEARCH/REPLACE sections, which only strong models get right."""
    documents_as: Literal["schema", "block"] = "schema"
    """How a document of the closed language is answered: held to its JSON schema while it is decoded, or, where the endpoint
    cannot do that, in one block like a Python file."""
    contract: Literal["full", "brief"] = "full"
    """How much of the contract the system text tells; the brief one is for small windows and slow machines."""
    timeouts: Timeouts = Timeouts()
    attempts: Annotated[int, Field(ge=1, le=10)] = 4
    """Most attempts of one call. There is no other retry layer above or below."""
    max_concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Calls that one process sends at the same time."""
    training_cutoff: date | None = None
    """Last day that the model may have read about, as its provider states it. None means unknown: nothing that this
    model touched is ever called blind."""
    price: Price | None = None
    """None means unknown, not free."""

    @property
    def key_variable(self) -> str:
        """The key's variable for messages: by its name where no key looks like that, else by its setting."""
        is_name = self.key_env is not None and _VARIABLE.fullmatch(self.key_env)
        return str(self.key_env) if is_name else f"the variable that [llm.{self.name}] key_env names"

    @field_validator("base_url")
    @classmethod
    def _is_plain_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
        except ValueError:
            raise ValueError("must be an address like https://host/v1: the brackets in it do not close") from None
        if parts.scheme not in {"http", "https"} or not _is_host(parts.hostname, parts.netloc) or not _is_plain(value):
            raise ValueError("must be an address like https://host/v1 or http://127.0.0.1:8080/v1")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ValueError("must hold no user, password, query or fragment: name the key's variable in key_env")
        try:
            _ = parts.port
        except ValueError:  # its own sentence repeats what may be a key
            raise ValueError("must have a number from 0 to 65535 as its port, or none") from None
        return value.rstrip("/")

    @model_validator(mode="after")
    def _fits_its_dialect(self) -> LlmProfile:
        if self.constrained and self.dialect not in GRAMMAR_DIALECTS:
            raise ValueError(f"constrained needs a dialect with grammars: {' or '.join(sorted(GRAMMAR_DIALECTS))}")
        if self.constrained and self.mutate_as != "full":
            raise ValueError('constrained answers are whole files: leave mutate_as out, or set it to "full"')
        if self.dialect == "ollama" and self.context_tokens is None:
            raise ValueError("dialect ollama needs context_tokens: the server cuts longer questions without saying so")
        is_new = self.dialect == "anthropic" and self.api_version >= _WITHOUT_TEMPERATURE
        if is_new and self.temperature is not None:
            raise ValueError(f"temperature is refused from api_version {_WITHOUT_TEMPERATURE} on: leave it out")
        if self.dialect in {"openai_responses", "anthropic", "ollama"} and self.max_tokens_field != "max_tokens":
            raise ValueError(f"max_tokens_field is for chat completions: leave it out with dialect {self.dialect}")
        return self

    @model_validator(mode="after")
    def _keeps_the_key_private(self) -> LlmProfile:
        parts = urlsplit(self.base_url)
        if self.key_env and parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
            raise ValueError("a key must not travel over plain http: use https, or leave key_env out")
        return self


def _is_plain(address: str) -> bool:
    return address.isascii() and address.isprintable() and " " not in address


def _is_host(host: str | None, written: str) -> bool:
    """A name of letters, digits and hyphens in parts, or a number; what the client's own check would refuse later."""
    if not host:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "[" not in written and _HOST.fullmatch(host) is not None
    return True


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
