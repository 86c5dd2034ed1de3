"""The ``review`` flow: one entry's evidence, a form, and a person's decision, proven by a one-time code.

The flow asks and never decides. It takes the id of an entry and nothing else, suspends until somebody fills the form, and whoever that is
follows from the code alone (``evolution.pool.codes``): what is typed for decision and reason counts only under a code that an enrolled
person's key has signed for just that. From there it is the same ``flows.deciding.Desk`` that ``trigate pool promote`` uses.

The look at the vault is taken in the flow's own process. So reviews wait in a queue of their own, ``vault``, which only the worker
beside the vault serves; elsewhere the look is refused, unspent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from prefect import flow, get_run_logger, suspend_flow_run
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State  # noqa: TC002 - without it Prefect cannot read the flow's annotations, and makes no form
from prefect.input import RunInput
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import Field, ValidationError

from evolution.escaping import escape_cell
from evolution.pool import (
    Choice,
    CodeRefused,
    Decided,
    DecisionError,
    EntryStatus,
    LookFailed,
    Promoted,
    PromotionRefused,
)
from evolution.pool.decisions import checked_reason
from flows.deciding import Desk
from flows.forms import ReviewRequest  # noqa: TC001 - Prefect reads the annotation to make the form
from flows.problems import Problem
from flows.reviewcard import card_markdown
from flows.settings import home_folder, load_settings
from flows.tidings import REVIEW, claim, has_artifact, tell_decision

if TYPE_CHECKING:
    from evolution.pool import PoolEntry, Redeemed

ATTEMPTS = 5
"""Codes that one review hears; somebody who mistypes needs two."""


class ReviewForm(RunInput):
    """What a person fills in. Everything in it is stored in the clear, and a code that was shown is worth nothing any more."""

    decision: Literal["promote", "decline"] = Field(
        title="Decision", description="Promote spends one counted look at the vault; decline is for good."
    )
    reason: Annotated[str, Field(min_length=1, max_length=2_000)] = Field(
        title="Reason", description="On one line. It stands in the decision log for ever, and is stored in the clear."
    )
    code: Annotated[str, Field(min_length=1, max_length=60)] = Field(
        title="One-time code",
        description="From: trigate people code ENTRY --decision promote|decline --by NAME. Never type a passphrase here.",
    )


@flow(name=REVIEW, flow_run_name="review {request.entry}", persist_result=False)
def review(request: ReviewRequest) -> State[str]:
    """Ask a person to promote or decline an entry of the pool."""
    home = home_folder()
    desk = Desk.open(home, load_settings(None, home))
    trouble = ""
    for attempt in range(1, ATTEMPTS + 1):
        found = desk.pool.get(request.entry)
        over = _over(desk, found)
        if over is not None:
            return over
        try:
            form = _asked(desk, found, attempt, trouble)
        except ValidationError:
            form = None  # written past the form, straight into Prefect's store
        answer = _answered(desk, found, form)
        if not isinstance(answer, str):
            return answer
        trouble = answer
        get_run_logger().warning("attempt %d of %d refused: %s", attempt, ATTEMPTS, trouble)
    return Completed(
        name="Refused", message=f"{ATTEMPTS} attempts were refused, the last one: {trouble}; start another review"
    )


def _over(desk: Desk, entry: PoolEntry) -> State[str] | None:
    """Why there is nothing to ask; None while there is."""
    if entry.status is not EntryStatus.CANDIDATE:
        last = desk.pool.decisions(entry)[-1:]
        by = f": decision {last[0].number}, by {last[0].by}" if last else ""
        return Completed(name="Decided elsewhere", message=f"{entry.id} is {entry.status.value}{by}")
    if not any(person.public_key for person in desk.pool.people.list()):
        return Completed(
            name="Not possible",
            message="nobody has a signing key here, so nobody can make a code: trigate people add NAME",
        )
    return None


def _asked(desk: Desk, entry: PoolEntry, attempt: int, trouble: str) -> ReviewForm:
    """What somebody typed. The flow ends here, and is started again from its beginning by the answer."""
    key = f"review-{entry.id}"
    if not has_artifact(desk.home, flow_run.id, key):
        claim(desk.home, flow_run.id, flow_run.tags)
        card = card_markdown(entry, looks_left=desk.pool.looks_left(entry), obstacle=_obstacle(desk, entry))
        create_markdown_artifact(markdown=card, key=key, description=f"What is known of {entry.id}.")
    words = [
        # The reason can name a person, and names are free text; the UI reads this as Markdown.
        *([f"**Not accepted: {escape_cell(trouble)}.**"] if trouble else []),
        f"{entry.id}: the evidence stands among the artifacts of this run, and in `trigate pool show {entry.id}`.",
        f"A code comes from a terminal: `trigate people code {entry.id} --decision promote --by NAME` (or `decline`).",
        "What you type here is stored in the clear; who decides follows from the code, never from the text.",
    ]
    form = ReviewForm.with_initial_data(description="\n\n".join(words))
    return suspend_flow_run(wait_for_input=form, key=f"attempt-{attempt}")


def _answered(desk: Desk, entry: PoolEntry, form: ReviewForm | None) -> State[str] | str:
    """The end of the review, or why it goes on waiting."""
    try:
        # Prefect's own check is not relied on: it drops constraints of fields that begin with a value.
        checked = ReviewForm.model_validate(None if form is None else form.model_dump(warnings=False))
    except ValidationError:
        return "the form was not filled in as it asks"
    choice = Choice(checked.decision)
    redeemed = desk.pool.codes.redeem(entry.number, choice, checked.code)
    if isinstance(redeemed, CodeRefused):
        return redeemed.reason
    try:
        reason = checked_reason(checked.reason)
    except DecisionError as error:
        return f"{error}; the code is spent, ask for another"
    return _decided(desk, entry, choice, reason, redeemed)


def _decided(desk: Desk, entry: PoolEntry, choice: Choice, reason: str, redeemed: Redeemed) -> State[str]:
    if choice is Choice.DECLINE:
        declined = desk.decline(entry, by=redeemed.by, reason=reason, signer=redeemed.signer)
        if not isinstance(declined, Decided):
            return Completed(name="Refused", message=declined.reason)
        return _told(desk, declined, "Declined", f"{entry.id} is declined, by {declined.decision.by}")
    obstacle = _obstacle(desk, entry)
    if obstacle is not None:
        return Completed(name="Refused", message=obstacle)
    outcome = desk.promote(entry, by=redeemed.by, reason=reason, signer=redeemed.signer)
    match outcome:
        case Promoted():
            return _told(
                desk,
                outcome,
                "Promoted",
                f"{entry.id} is promoted by {outcome.decision.by}; it passed its look at the vault",
            )
        case LookFailed():
            return _told(desk, outcome, "Failed its look", f"{entry.id} failed its look at the vault and is declined")
        case PromotionRefused():
            return Completed(name="Refused", message=outcome.reason)


def _obstacle(desk: Desk, entry: PoolEntry) -> str | None:
    """Why a promotion would be refused; also where this machine holds no vault."""
    try:
        return desk.obstacle(entry)
    except Problem as problem:
        return f"{problem}; a look is taken where the vault is"


def _told(desk: Desk, outcome: Promoted | LookFailed | Decided, name: str, message: str) -> State[str]:
    tell_decision(desk.home, outcome.entry, outcome.decision, but=flow_run.id)
    return Completed(name=name, message=message)
