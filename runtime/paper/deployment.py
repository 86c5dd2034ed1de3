"""A deployment: what a person let trade on paper, signed with that person's key.

The signature covers everything here. A run is started and resumed only while all of it holds: the text has the signed hash, the
owner is the one who signed, the signature is whole, not too old and not revoked.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.kernel.report import AccountKind, Costs, RunConfig
from runtime.model import Instrument, Timeframe
from runtime.paper.canon import encode, moment, sha256, stamp
from runtime.paper.signing import is_signed

if TYPE_CHECKING:
    from datetime import datetime

    from runtime.source import StrategySource

_FORMAT = "trigate-deployment/1"
_ID_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the evidence lets one expect, for comparing with what happens."""

    sharpe: float | None
    """Annualised, in the backtest on train; None when it had none."""
    max_drawdown: float | None
    """Deepest fall in the backtest on train, a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What is signed."""

    entry: str
    """Id of the pool entry that was promoted."""
    source_sha256: str
    language: str
    owner: str
    """Who promoted it; the account of every run belongs to them."""
    dataset: str
    """The set that its evidence is about, and whose vault its live bars may join."""
    instruments: tuple[Instrument, ...]
    """What it may trade, one of them per run."""
    timeframe: Timeframe
    config: RunConfig
    """Cash, costs and kind of account, as in the backtest."""
    max_notional: float
    """Most that one order may be worth, whatever the guards say; quote currency."""
    engine_version: str
    signed: datetime
    expires: datetime
    expectation: Expectation = field(default_factory=lambda: Expectation(sharpe=None, max_drawdown=None))

    def text(self) -> str:
        """What is signed, as text."""
        config = asdict(self.config) | {"account": self.config.account.value}
        return encode(
            asdict(self)
            | {
                "format": _FORMAT,
                "timeframe": str(self.timeframe),
                "config": config,
                "signed": stamp(self.signed),
                "expires": stamp(self.expires),
            }
        )

    @property
    def id(self) -> str:
        """Made from the text: another text is another deployment."""
        return f"d-{sha256(self.text())[:_ID_LENGTH]}"

    def instrument(self, symbol: str) -> Instrument | None:
        """The instrument of that name, if the deployment is for it."""
        return next((each for each in self.instruments if each.symbol == symbol), None)


def read_deployment(text: str) -> Deployment:
    """The deployment that ``Deployment.text`` wrote.

    Raises:
        ValueError: the text is none.
    """
    try:
        document: dict[str, Any] = json.loads(text)
        if document.pop("format") != _FORMAT:
            raise ValueError("another format")
        config = document.pop("config")
        deployment = Deployment(
            **document
            | {
                "instruments": tuple(Instrument(**each) for each in document["instruments"]),
                "timeframe": Timeframe.parse(document["timeframe"]),
                "config": RunConfig(
                    **config | {"costs": Costs(**config["costs"]), "account": AccountKind(config["account"])}
                ),
                "signed": moment(document["signed"]),
                "expires": moment(document["expires"]),
                "expectation": Expectation(**document["expectation"]),
            }
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a deployment's text is damaged ({error})") from error
    if deployment.text() != text:
        raise ValueError("a deployment's text is not as it was written")
    return deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedDeployment:
    """A deployment with what stands behind it."""

    deployment: Deployment
    public_key: str
    """Of the person who signed, hex."""
    signature: str
    """Over the deployment's text, hex."""
    revoked: str | None = None
    """Who revoked it, when and why, as one clause; None while it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Who wants to run a deployment, and with what."""

    account: str
    """Derived by the caller in one way for everyone (``account_of``)."""
    symbol: str
    source: StrategySource
    enrolled_key: str | None
    """The owner's key as it is enrolled now."""
    engine_version: str


def account_of(name: str) -> str:
    """The account of a person: the same for every spelling of their name.

    >>> account_of("  Ann   Smith ")
    'ann smith'
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def refusal(signed: SignedDeployment, bearer: Bearer, at: datetime) -> str | None:
    """Why a deployment may not run, asked at every start and resume; None when it may."""
    deployment = signed.deployment
    told = f"deployment {deployment.id}"
    if not is_signed(signed.public_key, deployment.text(), signed.signature):
        return f"{told}: its signature does not hold; sign again with trigate paper deploy"
    if bearer.enrolled_key != signed.public_key:
        return f"{told}: {deployment.owner} is not enrolled with the key that signed it; sign again"
    if signed.revoked is not None:
        return f"{told} was revoked {signed.revoked}"
    if at >= deployment.expires:
        return f"{told} was good until {stamp(deployment.expires)}; sign again with trigate paper deploy"
    if account_of(deployment.owner) != bearer.account:
        return f"{told} belongs to {deployment.owner}, not to account {bearer.account!r}"
    if (bearer.source.sha256, bearer.source.language.value) != (deployment.source_sha256, deployment.language):
        return (
            f"{told} is for the text {deployment.source_sha256[:12]}, and this one is {bearer.source.sha256[:12]}: the "
            f"file was edited, and what was promoted is not what would trade"
        )
    if deployment.instrument(bearer.symbol) is None:
        known = ", ".join(each.symbol for each in deployment.instruments)
        return f"{told} is not for {bearer.symbol!r}; it is for {known}"
    if deployment.engine_version != bearer.engine_version:
        return (
            f"{told} was signed for engine {deployment.engine_version} and this is {bearer.engine_version}, which may "
            f"fill otherwise; rescore the entry and sign again"
        )
    return None
