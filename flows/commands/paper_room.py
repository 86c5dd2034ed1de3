"""What the commands of ``trigate paper`` share: their arguments, the room they work in, and how records are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.output import plain, print_json
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from evolution.pool.keys import SigningKey
    from flows.trading import TradingRoom
    from runtime.paper.plans import Plan
    from runtime.paper.runs import RunRecord

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a paper run, like t-20261201-1a2b3c.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers for it.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]


def room_of(config: Path | None, cage: str | None = None) -> TradingRoom:
    """The room of this home and configuration."""
    from flows.settings import home_folder, load_settings
    from flows.trading import open_room

    home = home_folder()
    return open_room(home, load_settings(config, home, cage=cage))


def key_of(room: TradingRoom, by: str) -> SigningKey:
    """The opened key of somebody who acts.

    Raises:
        UsageProblem: they have none, or it does not open.
    """
    from evolution.pool.people import way_in
    from flows.commands.signing import NotSigned, signer_for

    signer = signer_for(room.pool.people, room.home, by, offer=False)
    if isinstance(signer, NotSigned):
        raise UsageProblem(signer.reason)
    if signer is None:
        known = [each.name for each in room.pool.people.list() if each.public_key is not None]
        raise UsageProblem(
            f"{by} has no signing key, and paper trading is signed for; {way_in(by, known, 'makes one')}"
        )
    return signer


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan as JSON values."""
    return {
        "id": plan.id,
        "run": plan.run,
        "request": plan.request,
        "reason": plan.reason,
        "maker": plan.maker,
        "kind": plan.maker_kind.value,
        "status": plan.status.value,
        "checker": plan.checker,
        "expires": plan.expires.isoformat(),
    }


def run_document(record: RunRecord) -> dict[str, Any]:
    """A run as JSON values."""
    return {
        "id": record.id,
        "status": record.status.value,
        "reason": record.reason,
        "deployment": record.deployment,
        "account": record.account,
        "symbol": record.symbol,
        "started_by": record.started_by,
        "guards": None if record.guards is None else record.guards.model_dump(),
        "unguarded_by": record.unguarded_by,
        "feed": record.feed,
        "created": record.created.isoformat(),
        "finished": None if record.finished is None else record.finished.isoformat(),
        "bars": record.bars - record.warm,
    }


def say_refusal(code: int, message: str, *, json: bool) -> int:
    """A negative verdict; ``code`` is for whoever puts HTTP in front."""
    print_json({"verdict": "refused", "code": code, "message": message}) if json else print(plain(message))
    return 1
