"""``trigate paper``: promoted entries on paper, unattended, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import CageChoice, ConfigFile, Json
from flows.output import plain, print_json, table
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from evolution.pool.keys import SigningKey
    from flows.trading import TradingRoom
    from runtime.desk import Request
    from runtime.paper.plans import Plan
    from runtime.paper.runner import RunEnding
    from runtime.paper.runs import RunRecord

app = typer.Typer(no_args_is_help=True, help="Paper trading: what was promoted, on closed bars, with an audit trail.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a paper run, like t-20261201-1a2b3c.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers for it.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]


@app.command("deploy")
def deploy(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="A promoted pool entry.")],
    by: By,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Sign a promoted entry's deployment again: after it expired, or when its promotion was not signed."""
    from flows import trading

    room = _room(config)
    found = trading.find_entry(room, entry)
    signed = trading.deploy(room, found, by, _key(room, by))
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

    room = _room(None)
    _key(room, by)
    try:
        room.book.revoke(deployment, by=by, reason=reason)
    except RunRefused as error:
        return _refuse(error.code, str(error), json=json)
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
        return _refuse(FORBIDDEN, str(error), json=json)
    words = _feed_words(feed, replay, begin)
    room = _room(config, cage)
    signed = trading.current_deployment(room, what)
    deployment = signed.deployment
    chosen = symbol or deployment.instruments[0].symbol
    if symbol is None and len(deployment.instruments) > 1:
        known = ", ".join(each.symbol for each in deployment.instruments)
        raise UsageProblem(f"deployment {deployment.id} is for {known}; choose one with --symbol")
    account = account_of(by)
    refused = trading.permission(room, deployment.id, account, chosen)
    if refused is not None:
        return _refuse(FORBIDDEN, refused, json=json)
    if _key(room, by).public_key != signed.public_key:
        return _refuse(
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
        return _refuse(error.code, str(error), json=json)
    if queue:
        print_json({"id": run, "status": "running"}) if json else print(
            f"{run} is written down; trigate paper resume {run}"
        )
        return 0
    return _run(room, run, speed, json=json)


@app.command("resume")
def resume(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN...", help="Default: all that should run.")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Needed for runs that ended.")] = None,
    config: ConfigFile = None,
    cage: CageChoice = None,
    json: Json = False,
) -> int:
    """Go on with paper runs, all in this process, each in a cage of its own. What ended goes on only by name."""
    from runtime.paper.runs import RunRefused

    room = _room(config, cage)
    wanted = runs or [each.id for each in room.book.list() if each.status.value == "running"]
    try:
        for run in wanted:
            if room.book.get(run).status.is_over or room.book.get(run).stop_by is not None:
                if by is None:
                    raise UsageProblem(f"paper run {run} is {room.book.get(run).status.value}; --by NAME lets it go on")
                _key(room, by)
                room.book.reopen(run, by=by)
    except RunRefused as error:
        return _refuse(error.code, str(error), json=json)
    if not wanted:
        print_json([]) if json else print("no paper run is waiting; trigate paper start begins one")
        return 0
    if len(wanted) == 1:
        return _run(room, wanted[0], None, json=json)
    from flows.many import run_many

    endings = run_many(room, wanted)
    if json:
        print_json([_ending_document(run, ending) for run, ending in endings.items()])
    else:
        for run, ending in endings.items():
            print(f"{run} {_ending_words(ending)}")
    return 0 if all(_is_good(each) for each in endings.values()) else 1


@app.command("list")
def list_runs(json: Json = False) -> int:
    """Paper runs, newest first; deployments; plans that wait."""
    room = _room(None)
    runs, deployments, plans = room.book.list(), room.book.deployments(), room.plans.waiting()
    if json:
        print_json(
            {
                "runs": [_run_document(each) for each in runs],
                "deployments": [
                    {
                        "id": each.deployment.id,
                        "entry": each.deployment.entry,
                        "owner": each.deployment.owner,
                        "expires": each.deployment.expires.isoformat(),
                        "revoked": each.revoked,
                    }
                    for each in deployments
                ],
                "plans": [_plan_document(each) for each in plans],
            }
        )
        return 0
    if not (runs or deployments):
        print("nothing trades on paper; trigate pool promote signs a deployment, trigate paper start runs it")
    if runs:
        rows = [
            (each.id, each.status.value, each.symbol, each.account, each.bars - each.warm, each.reason) for each in runs
        ]
        table("", ("run", "status", "symbol", "account", "bars", "why"), rows)
    if deployments:
        told = [
            (
                each.deployment.id,
                each.deployment.entry,
                each.deployment.owner,
                f"{each.deployment.expires:%Y-%m-%d}",
                f"revoked {each.revoked}" if each.revoked else "",
            )
            for each in deployments
        ]
        table("", ("deployment", "entry", "owner", "good until", ""), told)
    for plan in plans:
        print(
            f"plan {plan.id} by {plain(plan.maker)} waits for an answer: {plain(plan.request)} ({plain(plan.reason)})"
        )
    return 0


@app.command("status")
def status(run: RunId, json: Json = False) -> int:
    """Where a run stands: equity, position, bars, lag, locks, and whether it does what its evidence promised."""
    from dataclasses import asdict

    from flows.clock import now
    from flows.trading import market_of
    from runtime.paper.runs import RunRefused
    from runtime.paper.watching import status_of

    room = _room(None)
    try:
        record = room.book.get(run)
        deployment = room.book.deployment(record.deployment).deployment
    except RunRefused as error:
        return _refuse(error.code, str(error), json=json)
    market = market_of(deployment, record.symbol)
    is_live = '"kind": "live"' in record.feed
    found = status_of(room.engine, run, deployment, market, now(), is_live=is_live)
    if json:
        document = _run_document(record) | asdict(found)
        document["locks"] = [lock.story() for lock in found.locks]
        for name in ("last_bar", "next_bar"):
            document[name] = None if document[name] is None else document[name].isoformat()
        print_json(document)
        return 0
    forward = found.forward
    rows: list[tuple[str, object]] = [
        ("status", f"{record.status.value}{': ' + record.reason if record.reason else ''}"),
        ("run by", found.holder),
        ("equity", found.equity),
        ("cash", found.cash),
        ("position", found.position),
        ("bars", record.bars - record.warm),
        ("last bar", f"{found.last_bar:%Y-%m-%d %H:%MZ}" if found.last_bar else None),
        ("next bar closes", f"{found.next_bar:%Y-%m-%d %H:%MZ}" if found.next_bar else None),
        ("lag", f"{found.lag_s:.1f} s" if found.lag_s is not None else None),
        ("fills", found.fills),
        ("intents", found.decisions),
        ("total return", forward.total_return),
        ("max drawdown", forward.max_drawdown),
        ("Sharpe", forward.sharpe),
        ("Sharpe of the evidence", forward.expected_sharpe),
    ]
    table("", ("", run), rows)
    for lock in found.locks:
        where = " ".join(each for each in (lock.market, lock.symbol, lock.side) if each) or "everything"
        print(f"locked: {where} until {lock.until:%Y-%m-%d %H:%MZ} by {lock.rule}: {lock.reason}")
    if record.unguarded_by:
        print(f"there is no risk guard; {plain(record.unguarded_by)} answers for it")
    if forward.alarm:
        print(f"alarm: {forward.alarm}")
    return 0


@app.command("stop")
def stop(run: RunId, by: By, json: Json = False) -> int:
    """Ask a run to stop. Its position stays as it is; trigate paper resume goes on with it."""
    from runtime.paper.runs import RunRefused

    room = _room(None)
    try:
        is_over = room.book.stop(run, by=by)
    except RunRefused as error:
        return _refuse(error.code, str(error), json=json)
    words = "is stopped" if is_over else "stops at its next look, within seconds"
    print_json({"id": run, "stopped": is_over}) if json else print(f"{run} {words}")
    return 0


@app.command("plan")
def plan(
    run: RunId,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="buy, sell, close, target or cancel.")],
    by: By,
    reason: Reason,
    quantity: Annotated[
        float | None, typer.Option(help="Units; the weight of a target; the order's number of a cancel.")
    ] = None,
    limit: Annotated[float | None, typer.Option(help="Worst acceptable price.")] = None,
    stop: Annotated[float | None, typer.Option(help="Price from which it becomes a market order.")] = None,
    model: Annotated[bool, typer.Option("--model", help="A model makes this plan, under the name of --by.")] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Plan an order by hand, or for a model. Somebody else has to approve it; it is executed at the next bar."""
    from flows.hooks import run_hooks
    from runtime.paper.plans import Maker, PlanProblem
    from runtime.paper.values import MakerKind

    room = _room(config)
    request = _request(action, quantity, limit, stop)
    kind = MakerKind.MODEL if model else MakerKind.PERSON
    if not model:
        _key(room, by)  # otherwise a name that was only typed could hide that maker and checker are one
    told = {
        "run": run,
        "action": action,
        "quantity": quantity,
        "limit": limit,
        "stop": stop,
        "by": by,
        "reason": reason,
    }
    hooks = room.settings.paper.hooks
    against = run_hooks(hooks.before_plan, "plan", told)
    if against is not None:
        return _refuse(403, f"{against}; nothing was planned", json=json)
    try:
        made = room.plans.make(run, request, Maker(name=by, kind=kind, reason=reason), room.settings.paper.plans)
    except PlanProblem as error:
        return _refuse(403, str(error), json=json)
    _say_plan(made, run_hooks(hooks.after_plan, "planned", _plan_document(made)), json=json)
    return 0


@app.command("approve")
def approve(
    plan_id: Annotated[str, typer.Argument(metavar="PLAN", help="Id of a plan that waits.")],
    by: By,
    reject: Annotated[bool, typer.Option("--reject", help="Turn it down instead.")] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Answer a plan. Whoever made it never approves it."""
    from flows.hooks import run_hooks
    from runtime.paper.plans import PlanProblem, plan_text

    room = _room(config)
    hooks = room.settings.paper.hooks
    try:
        waiting = room.plans.get(plan_id)
        against = None if reject else run_hooks(hooks.before_approve, "approve", _plan_document(waiting) | {"by": by})
        if against is not None:
            return _refuse(403, f"{against}; nothing was approved", json=json)
        key = _key(room, by)
        signature = key.sign(plan_text(waiting).encode())
        answered = room.plans.answer(plan_id, by=by, approve=not reject, public_key=key.public_key, signature=signature)
    except PlanProblem as error:
        return _refuse(403, str(error), json=json)
    _say_plan(answered, run_hooks(hooks.after_approve, "approved", _plan_document(answered)), json=json)
    return 0


@app.command("audit")
def audit(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Only the lines of one run; all are checked.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the lines into a new file.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Check a file that was exported.")] = None,
    json: Json = False,
) -> int:
    """Check the audit log, line by line, and tell the story."""
    from flows.story import tell
    from runtime.paper.audit import read_head, verify
    from runtime.store import reading

    room = _room(None)
    lines, report = room.book.audit()
    if file is not None:
        lines = _lines_of(file)
        with reading(room.engine) as session:
            report = verify(lines, read_head(session), room.auditor.key.public_key)
    if export is not None:
        try:
            with export.open("x", encoding="ascii") as out:
                out.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise UsageProblem(
                f"--export {export}: {(error.strerror or str(error)).lower()}; choose a new file"
            ) from None
    told = tell(lines if report.problem is None else lines[: report.head.sequence], run)
    verdict = report.problem or "whole"
    if json:
        print_json(
            {
                "verdict": verdict,
                "lines": report.lines,
                "sequence": report.head.sequence,
                "head": report.head.hash,
                "key": room.auditor.key.public_key,
                "story": told,
            }
        )
    else:
        for line in told:
            print(plain(line))
        key = room.auditor.key.public_key[:16]
        print(f"audit log: {verdict}; {report.head.sequence} lines, head {report.head.hash[:16]}, key {key}")
    return 0 if report.problem is None else 1


# Parts ------------------------------------------------------------------------------------------------------------------


def _room(config: Path | None, cage: str | None = None) -> TradingRoom:
    from flows.settings import home_folder, load_settings
    from flows.trading import open_room

    home = home_folder()
    return open_room(home, load_settings(config, home, cage=cage))


def _key(room: TradingRoom, by: str) -> SigningKey:
    """The opened key of somebody who acts.

    Raises:
        UsageProblem: they have none, or it does not open.
    """
    from flows.commands.signing import NotSigned, signer_for

    signer = signer_for(room.pool.people, room.home, by, offer=False)
    if isinstance(signer, NotSigned):
        raise UsageProblem(signer.reason)
    if signer is None:
        raise UsageProblem(
            f"{by} has no signing key, and paper trading is signed for; trigate people add {by!r} makes one"
        )
    return signer


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

    ending = run_here(room, run, speed=speed, quiet=json)
    if json:
        print_json(_ending_document(run, ending))
    else:
        print(f"{run} {_ending_words(ending)}")
    return 0 if _is_good(ending) else 1


def _is_good(ending: RunEnding) -> bool:
    return ending.status is not None and ending.status.value in {"finished", "stopped"}


def _ending_words(ending: RunEnding) -> str:
    name = "is run elsewhere" if ending.status is None else f"is {ending.status.value}"
    return f"{name}: {plain(ending.reason)}"


def _ending_document(run: str, ending: RunEnding) -> dict[str, Any]:
    return {"id": run, "status": None if ending.status is None else ending.status.value, "reason": ending.reason}


def _run_document(record: RunRecord) -> dict[str, Any]:
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


def _plan_document(plan: Plan) -> dict[str, Any]:
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


def _say_plan(plan: Plan, complaint: str | None, *, json: bool) -> None:
    if json:
        print_json(_plan_document(plan) | {"hook": complaint})
        return
    print(f"{plan.id} is {plan.status.value}" + (f" by {plain(plan.checker)}" if plan.checker else ""))
    if complaint:
        print(plain(complaint))


def _request(action: str, quantity: float | None, limit: float | None, stop: float | None) -> Request:
    from runtime.desk import Action, Request

    known = [each.value for each in Action]
    if action not in known:
        raise UsageProblem(f"action {action!r}: write one of {', '.join(known)}")
    chosen = Action(action)
    if chosen is Action.TARGET and quantity is None:
        raise UsageProblem("a target needs --quantity: the weight, like 0.5")
    amount: float | int | None = quantity
    if chosen is Action.CANCEL and quantity is not None:
        amount = int(quantity)
    return Request(0, chosen, None, amount, limit, stop)


def _lines_of(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--file {file}: it cannot be read ({error}); give a file that --export wrote") from None


def _refuse(code: int, message: str, *, json: bool) -> int:
    """A negative verdict; ``code`` is for whoever puts HTTP in front."""
    print_json({"verdict": "refused", "code": code, "message": message}) if json else print(plain(message))
    return 1
