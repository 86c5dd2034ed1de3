"""Who was ahead with the same budget, said plainly, also where chance did better."""

from __future__ import annotations

from evolution.arms import arm_lines


def arm(name, **changes):
    return {
        "run_id": f"r-20261201-{name}",
        "evaluations": 144,
        "front": 12,
        "train_volume": 1250.125,
        "best_train_score": 0.912,
        "looked_at": 5,
        "validation_volume": 834.5,
        "best_validation_score": -0.1,
        "validation_psr": 0.5,
    } | changes


def told(**control):
    return arm_lines({"arms": {"evolution": arm("001"), "control": arm("002", **control)}})


def test_a_run_without_a_control_arm_says_nothing():
    assert arm_lines({}) == []


def test_both_arms_are_told_on_train_and_on_validation():
    lines = told(train_volume=900.0, validation_volume=901.25, best_train_score=0.4)
    assert lines == [
        "evolution (r-20261201-001): 144 tried, 5 of 12 on its front read",
        "control (r-20261201-002): 144 tried, 5 of 12 on its front read",
        "hypervolume on train: evolution 1250, control 900; ahead: evolution",
        "hypervolume on validation: evolution 834.5, control 901.2; ahead: control",
        "best one's score on train: evolution 0.912, control 0.4; ahead: evolution",
        "its score on validation: evolution -0.1, control -0.1; ahead: neither",
    ]


def test_an_undefined_score_is_behind_every_other_one():
    assert told(best_validation_score=None)[-1].endswith("evolution -0.1, control undefined; ahead: evolution")
    nobody = arm_lines({"arms": {name: arm(name, best_validation_score=None) for name in ("evolution", "control")}})
    assert nobody[-1].endswith("ahead: neither")


def test_every_line_fits_a_narrow_terminal():
    assert all(len(line) <= 78 for line in told(train_volume=0.00012345, best_train_score=-12.34567))
