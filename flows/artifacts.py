"""What a person sees in Prefect's UI: a table per generation, progress, and a summary. Ids and figures, escaped text, no secrets."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from evolution.escaping import escape_cell, escape_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evolution.trial import Trial

# A drawing that cannot be shown, since the server is being started anew, must not end a night. May be entered again and again.
_OPTIONAL = contextlib.suppress(httpx.HTTPError)


def publish_generation(run_id: str, generation: int, trials: Sequence[Trial]) -> None:
    """The table artifact of one generation, best first."""
    ranked = sorted(trials, key=_rank)
    with _OPTIONAL:
        create_table_artifact(
            table=[_row(place, trial) for place, trial in enumerate(ranked, 1)],
            key="generation",
            description=f"Run {run_id}, generation g{generation:03d}: scored first, then what was refused, and why.",
        )


def open_progress(run_id: str) -> UUID | None:
    """A progress bar for the run; feed it with ``show_progress``. None when the server is away."""
    with _OPTIONAL:
        artifact = create_progress_artifact(
            progress=0.0, key="run-progress", description=f"Run {run_id}: share of candidates tried"
        )
        assert isinstance(artifact, UUID)  # called from a synchronous flow
        return artifact
    return None


def show_progress(artifact: UUID | None, share: float) -> None:
    """Move the bar to ``share`` (0..1)."""
    if artifact is not None:
        with _OPTIONAL:
            update_progress_artifact(artifact_id=artifact, progress=round(100 * share, 1))


def publish_summary(markdown: str, *, run_id: str, generations: Mapping[str, str]) -> None:
    """The report of a finished run, with the way to its generations and to its page.

    Args:
        markdown: the report.
        run_id: of the run.
        generations: ids of the flow runs, by the names that people see.
    """
    # Relative, since nobody here knows under which address a person looks at the UI.
    links = [f"- [{escape_markdown(name)}](/runs/flow-run/{identity})" for name, identity in generations.items()]
    way_on = [f"\n## See also\n\n- its page, with curves and code: `trigate report {run_id} --open`", *links]
    with _OPTIONAL:
        create_markdown_artifact(
            markdown=markdown + "\n".join(way_on) + "\n",
            key="run-report",
            description="What the night found, and what it refused.",
        )


def _rank(trial: Trial) -> tuple[bool, float, float, str]:
    card = trial.scorecard
    if card is None:
        return (True, 0.0, 0.0, trial.candidate.id)
    score = -card.score if card.score is not None else float("inf")
    return (False, card.violation, score, trial.candidate.id)


def _row(place: int, trial: Trial) -> dict[str, Any]:
    card = trial.scorecard
    goals = card.objectives if card else None
    return {
        "rank": place,
        "candidate": trial.candidate.id,
        "outcome": trial.outcome.value,
        "score": _rounded(card.score if card else None),
        "sharpe": _rounded(goals.sharpe if goals else None),
        "calmar": _rounded(goals.calmar if goals else None),
        "turnover": _rounded(goals.turnover if goals else None),
        "drawdown": _rounded(card.max_drawdown if card else None),
        "beats buy and hold": card.beats_buy_and_hold if card else None,
        "gate": trial.gate,
        # The UI reads cells as Markdown, and would fetch an image that a candidate names.
        "reason": escape_cell(trial.reason),
        "operator": escape_cell(trial.candidate.provenance.operator),
        "parents": " ".join(trial.candidate.provenance.parents),
    }


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 4)
