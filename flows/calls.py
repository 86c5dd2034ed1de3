"""Opens what a run asks models with: endpoints, or a replay, and the ledger that all of its calls go through."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from evolution.llm import BudgetError, KeyMissingError, open_client, open_replay
from evolution.llm.breeder import LlmBreeder
from evolution.llm.budget import require_bounds
from evolution.llm.contract import standard_prompts
from evolution.llm.ledger import CallLedger, ReplayLedger, places
from evolution.llm.team import Patience, Team
from flows.clock import now
from flows.problems import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from sqlalchemy import Engine

    from evolution.llm import CallBook, EndpointClient
    from evolution.trial import Trial
    from flows.order import Order
    from flows.settings import Settings
    from flows.watch import Watch


def open_clients(stack: ExitStack, settings: Settings, order: Order) -> tuple[EndpointClient, ...]:
    """The endpoints of a run's profiles, closed with ``stack``; none for an offline run. A replay needs no key.

    Raises:
        UsageProblem: An unknown profile, a missing key, or ceilings that do not bound what a profile may spend.
    """
    if order.profile is None:
        return ()
    profiles = settings.profiles(order.profile)
    try:
        require_bounds(settings.budget, profiles)
        opened = [open_replay(each) if order.replay else open_client(each, os.environ) for each in profiles]
    except (KeyMissingError, BudgetError) as error:
        raise UsageProblem(str(error)) from None
    return tuple(stack.enter_context(client) for client in opened)


def open_team(  # noqa: PLR0913 - it joins what the run has open
    stack: ExitStack,
    clients: Sequence[EndpointClient],
    settings: Settings,
    order: Order,
    *,
    engine: Engine,
    run_id: str,
    replayed: Mapping[str, Trial],
    watch: Watch,
) -> Team | None:
    """Who writes the children of a run; None when nobody but the offline operators does."""
    if not clients:
        return None
    book: CallBook
    if order.replay is not None:
        book = ReplayLedger(engine, run_id=order.replay)
    else:
        book = CallLedger(engine, run_id=run_id, budget=settings.budget, now=now)
    patience = Patience(0.0 if order.replay else settings.models.patience_s, say=watch.say)
    breeders = [
        LlmBreeder(
            client,
            client.profile,
            prompts=standard_prompts(brief=client.profile.contract == "brief"),
            book=book,
            scratch_share=settings.models.scratch_share,
        )
        for client in clients
    ]
    team = Team(
        breeders,
        places=partial(places, engine, order.replay or run_id),
        patience=patience,
        # A replay repeats the places that were filled in a model's stead, and makes no others.
        falls_back=settings.models.on_failure == "offline" and order.replay is None,
        replayed=replayed,
        hang_up=partial(_close, clients),
    )
    stack.callback(team.close)
    return team


def _close(clients: Sequence[EndpointClient]) -> None:
    for client in clients:
        client.close()
