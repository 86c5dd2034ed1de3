"""``trigate paper``: promoted entries on paper, unattended, and what became of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.commands.paper_plans import approve, plan
from flows.commands.paper_room import By, Reason, RunId, key_of, room_of, say_refusal
from flows.commands.paper_views import audit, list_runs, status
from flows.listing import Listing
from flows.output import plain, print_json
from flows.problems import Interruption, UsageProblem

if TYPE_CHECKING:
    from flows.trading import TradingRoom
    from runtime.paper.runner import RunEnding

app = typer.Typer(
    cls=Listing, no_args_is_help=True, help="Paper trading: what was promoted, on closed bars, with an audit trail."
)


@app.command("deploy")
def deploy(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="A promoted pool entry.")],
    by: By,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Sign a promoted entry's deployment again: after it expired, or when its promotion was not signed."""
    from flows import trading

    room = room_of(config)
    found = trading.find_entry(room, entry)
    signed = trading.deploy(room, found, by, key_of(room, by))
    deployment = signed.deployment
    if json:
        print_json({"id": deployment.id, "entry": deployment.entry, "owner": deployment.owner})
    else:
        print(f"{deployment.id} is signed by {plain(deployment.owner)}, good until {deployment.expires:%Y-%m-%d}")
    return 0


@app.command("revoke")
def revoke(
    deployment: Annotated[str, typer.Argument(metavar="DEPLOYMENT", help="Id of a deployment, like d-1a2b3c4d5e6f.")],
    by: By,
    reason: Reason,
    json: Json = False,
) -> int:
    """Take a deployment back; its runs end at their next look."""
    from runtime.paper.runs import RunRefused

    room = room_of(None)
    key_of(room, by)
    try:
        room.book.revoke(deployment, by=by, reason=reason)
    except RunRefused as error:
        return say_refusal(error.code, str(error), json=json)
    print_json({"id": deployment, "revoked_by": by}) if json else print(f"{deployment} is revoked")
    return 0


@app.command("start")
def start(
    what: Annotated[str, typer.Argument(metavar="ENTRY", help="A promoted pool entry, or a deployment.")],
    by: By,
    symbol: Annotated[
        str | None, typer.Option("--symbol", help="What to trade (default: the deployment's only one).")
    ] = None,
    feed: Annotated[
        str | None, typer.Option("--feed", metavar="NAME", help="Live bars: [feeds.NAME] of trigate.toml.")
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option("--replay", metavar="SET|FILE", help="History instead of live bars, as fast as it goes."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="With --replay: where trading begins.")
    ] = None,
    speed: Annotated[
        float | None, typer.Option("--speed", min=1e-9, help="With --replay: times as fast as it was.")
    ] = None,
    without_guard: Annotated[
        bool, typer.Option("--without-guard", help="Run without risk guards; --by answers for it.")
    ] = False,
    venue: Annotated[str, typer.Option("--venue", help="Where orders go; there is only one.")] = "simulated",
    queue: Annotated[
        bool, typer.Option("--queue", help="Only write the run down, for the paper deployment or paper resume.")
    ] = False,
    config: ConfigFile = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Start a paper run and stay with it until it ends. Ctrl-C leaves it resumable."""
    from flows import trading
    from runtime.paper.deployment import account_of
    from runtime.paper.runs import FORBIDDEN, RunOrder, RunRefused
    from runtime.paper.venue import VenueRefused, find_venue

    try:
        find_venue(venue)
    except VenueRefused as error:
        return say_refusal(FORBIDDEN, str(error), json=json)
    words = _feed_words(feed, replay, begin)
    room = room_of(config, cage)
    signed = trading.current_deployment(room, what)
    deployment = signed.deployment
    chosen = symbol or deployment.instruments[0].symbol
    if symbol is None and len(deployment.instruments) > 1:
        known = ", ".join(each.symbol for each in deployment.instruments)
        raise UsageProblem(f"deployment {deployment.id} is for {known}; choose one with --symbol")
    account = account_of(by)
    refused = trading.permission(room, deployment.id, account, chosen)
    refused = refused or room.attestor.deployment_difference(deployment.id) or room.attestor.account_difference(account)
    if refused is not None:
        return say_refusal(FORBIDDEN, refused, json=json)
    if key_of(room, by).public_key != signed.public_key:
        return say_refusal(
            FORBIDDEN, f"{deployment.owner} signed with another key than {by} has now; sign again", json=json
        )
    trading.check_feed(room, deployment, chosen, words)
    order = RunOrder(
        deployment=deployment.id,
        account=account,
        symbol=chosen,
        started_by=by,
        guards=None if without_guard else room.settings.paper.guards,
        unguarded_by=by if without_guard else None,
        feed=words,
    )
    try:
        run = room.book.open(order)
    except RunRefused as error:
        return say_refusal(error.code, str(error), json=json)
    if queue:
        print_json({"id": run, "status": "running"}) if json else print(
            f"{run} is written down; trigate paper resume {run}"
        )
        return 0
    return _run(room, run, speed, json=json)


@app.command("resume")
def resume(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Default: all that should run.")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Needed for runs that ended.")] = None,
    config: ConfigFile = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Go on with paper runs, all in this process, each in a cage of its own. What ended goes on only by name."""
    from runtime.paper.runs import FORBIDDEN, RunRefused

    room = room_of(config, cage)
    try:
        wanted = runs or [
            each.id for each in room.book.list() if each.status.value == "running" and each.stop_by is None
        ]
        for run in wanted:
            record = room.book.get(run)
            if record.status.is_over or record.stop_by is not None:
                if by is None:
                    what = (
                        f"is {record.status.value}"
                        if record.status.is_over
                        else f"was asked to stop by {record.stop_by}"
                    )
                    raise UsageProblem(f"paper run {run} {what}; --by NAME lets it go on")
                key_of(room, by)
                difference = room.attestor.run_difference(run)
                if difference is not None:
                    return say_refusal(FORBIDDEN, difference, json=json)
                room.book.reopen(run, by=by)
    except RunRefused as error:
        return say_refusal(error.code, str(error), json=json)
    if not wanted:
        print_json([]) if json else print("no paper run is waiting; trigate paper start begins one")
        return 0
    if len(wanted) == 1:
        return _run(room, wanted[0], None, json=json)
    from flows.many import run_many

    try:
        endings = run_many(room, wanted)
    except KeyboardInterrupt:
        raise Interruption(f"stopped; {len(wanted)} runs go on with: trigate paper resume {' '.join(wanted)}") from None
    if json:
        print_json([_ending_document(run, ending) for run, ending in endings.items()])
    else:
        for run, ending in endings.items():
            print(f"{run} {_ending_words(ending)}")
    return 0 if all(_is_good(each) for each in endings.values()) else 1


@app.command("stop")
def stop(run: RunId, by: By, json: Json = False) -> int:
    """Ask a run to stop: anybody with a key may. Its position stays as it is; trigate paper resume goes on with it."""
    from runtime.paper.runs import RunRefused

    room = room_of(None)
    key_of(room, by)
    try:
        is_over = room.book.stop(run, by=by)
    except RunRefused as error:
        return say_refusal(error.code, str(error), json=json)
    words = "is stopped" if is_over else "stops at its next look, within seconds"
    print_json({"id": run, "stopped": is_over}) if json else print(f"{run} {words}")
    return 0


def _feed_words(feed: str | None, replay: str | None, begin: str | None) -> str:
    from flows.opening import moment
    from flows.trading import live_words, replay_words

    if (feed is None) == (replay is None):
        raise UsageProblem("say where bars come from: --feed NAME for live ones, or --replay SET|FILE for history")
    if replay is not None:
        return replay_words(replay, None if begin is None else moment("--from", begin))
    if begin is not None:
        raise UsageProblem("--from goes with --replay; a live run begins with the next bar that closes")
    return live_words(feed or "")


def _run(room: TradingRoom, run: str, speed: float | None, *, json: bool) -> int:
    from flows.many import run_here

    if not json:
        _say_what_runs(room, run)
    try:
        ending = run_here(room, run, speed=speed, quiet=json)
    except KeyboardInterrupt:
        raise Interruption(f"stopped; {run} goes on with: trigate paper resume {run}") from None
    if json:
        print_json(_ending_document(run, ending))
    else:
        print(f"{run} {_ending_words(ending)}")
    return 0 if _is_good(ending) else 1


def _say_what_runs(room: TradingRoom, run: str) -> None:
    """A live run may have nothing to say for hours: before it falls silent it says that it runs."""
    record = room.book.get(run)
    print(
        f"{run} runs {record.deployment} on {plain(record.symbol)}; bars with a fill or a refusal follow. Ctrl-C leaves it "
        f"resumable; look: trigate paper status {run}",
        file=sys.stderr,
        flush=True,
    )


def _is_good(ending: RunEnding) -> bool:
    return ending.status is not None and ending.status.value in {"finished", "stopped"}


def _ending_words(ending: RunEnding) -> str:
    if ending.is_refused:
        return f"is refused: {plain(ending.reason)}"
    name = "is run elsewhere" if ending.status is None else f"is {ending.status.value}"
    return f"{name}: {plain(ending.reason)}"


def _ending_document(run: str, ending: RunEnding) -> dict[str, Any]:
    return {
        "id": run,
        "status": None if ending.status is None else ending.status.value,
        "reason": ending.reason,
        "refused": ending.is_refused,
    }


app.command("list")(list_runs)
app.command("status")(status)
app.command("plan")(plan)
app.command("approve")(approve)
app.command("audit")(audit)
