"""``trigate paper plan`` and ``approve``: orders by hand, and the second party that answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from flows.commands.options import ConfigFile, Json
from flows.commands.paper_room import By, Reason, RunId, key_of, plan_document, room_of, say_refusal
from flows.output import plain, print_json
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from runtime.desk import Request
    from runtime.paper.plans import Plan


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
    model: Annotated[bool, typer.Option("--model", help="A model makes this plan; --by ran it, with a key.")] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Plan an order by hand, or for a model. Somebody else has to approve it; it is executed at the next bar."""
    from flows.hooks import run_hooks
    from runtime.paper.plans import Maker, PlanProblem
    from runtime.paper.values import MakerKind

    room = room_of(config)
    request = _request(action, quantity, limit, stop)
    kind = MakerKind.MODEL if model else MakerKind.PERSON
    # A name that was only typed could hide that maker and checker are one; a model has no name, so it is who ran it.
    key_of(room, by)
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
    against = run_hooks(hooks.before_plan, "plan", told, hooks.timeout_s)
    if against is not None:
        return say_refusal(403, f"{against}; nothing was planned", json=json)
    try:
        made = room.plans.make(run, request, Maker(name=by, kind=kind, reason=reason), room.settings.paper.plans)
    except PlanProblem as error:
        return say_refusal(403, str(error), json=json)
    _say_plan(made, run_hooks(hooks.after_plan, "planned", plan_document(made), hooks.timeout_s), json=json)
    return 0


def approve(
    plan_id: Annotated[str, typer.Argument(metavar="PLAN", help="Id of a plan that waits.")],
    by: By,
    reject: Annotated[bool, typer.Option("--reject", help="Turn it down instead.")] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Answer a plan. Whoever made it never approves it."""
    from flows.hooks import run_hooks
    from runtime.paper.plans import PlanProblem, answer_text, plan_difference
    from runtime.paper.values import PlanStatus

    room = room_of(config)
    hooks = room.settings.paper.hooks
    try:
        waiting = room.plans.get(plan_id)
        if waiting.status is PlanStatus.PENDING:
            difference = plan_difference(waiting, None, room.attestor.plan(plan_id))
            if difference is not None:
                return say_refusal(403, f"{difference}; nothing was answered", json=json)
        against = (
            None
            if reject
            else run_hooks(hooks.before_approve, "approve", plan_document(waiting) | {"by": by}, hooks.timeout_s)
        )
        if against is not None:
            return say_refusal(403, f"{against}; nothing was approved", json=json)
        key = key_of(room, by)
        signature = key.sign(answer_text(waiting, approve=not reject).encode())
        answered = room.plans.answer(plan_id, by=by, approve=not reject, public_key=key.public_key, signature=signature)
    except PlanProblem as error:
        return say_refusal(403, str(error), json=json)
    _say_plan(answered, run_hooks(hooks.after_approve, "approved", plan_document(answered), hooks.timeout_s), json=json)
    return 0


def _say_plan(plan: Plan, complaint: str | None, *, json: bool) -> None:
    from runtime.paper.values import PlanStatus

    if json:
        print_json(plan_document(plan) | {"hook": complaint})
        return
    if plan.status is PlanStatus.PENDING:
        print(
            f"{plan.id} waits until {plan.expires:%Y-%m-%d %H:%MZ} for somebody else: trigate paper approve {plan.id} --by NAME"
        )
    else:
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
    for name, value in (("--quantity", quantity), ("--limit", limit), ("--stop", stop)):
        if value is not None and not math.isfinite(value):
            raise UsageProblem(f"{name} {value}: write a number that ends")
    amount: float | int | None = quantity
    if chosen is Action.CANCEL and quantity is not None:
        if not quantity.is_integer():
            raise UsageProblem(f"--quantity {quantity:g}: a cancel names an order by its number, like 3")
        amount = int(quantity)
    return Request(0, chosen, None, amount, limit, stop)
