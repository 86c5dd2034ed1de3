"""The two arms of a run with ``--control``, side by side, in lines that a narrow terminal shows whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def arm_lines(story: Mapping[str, Any]) -> list[str]:
    """What both arms came to, and who was ahead where; none before both have stopped and were seen on validation.

    Args:
        story: of the run; ``arms`` in it holds an ``evolution.afterwards.ArmReport`` of each, as documents.
    """
    arms = story.get("arms", {})
    lines = [
        f"{name} ({arm['run_id']}): {arm['evaluations']} tried, {arm['looked_at']} of {arm['front']} on its front read"
        for name, arm in arms.items()
    ]
    if len(arms) != 2:
        return lines
    return [
        *lines,
        _row("hypervolume on train", arms, "train_volume"),
        _row("hypervolume on validation", arms, "validation_volume"),
        _row("best one's score on train", arms, "best_train_score"),
        _row("its score on validation", arms, "best_validation_score"),
    ]


def _row(what: str, arms: Mapping[str, Mapping[str, Any]], key: str) -> str:
    (first, mine), (second, other) = arms.items()
    values = (mine[key], other[key])
    known = [value for value in values if value is not None]
    ahead = "neither" if not known or values[0] == values[1] else max(known)
    who = ahead if isinstance(ahead, str) else first if values[0] == ahead else second
    return f"{what}: {first} {_figure(values[0])}, {second} {_figure(values[1])}; ahead: {who}"


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"
