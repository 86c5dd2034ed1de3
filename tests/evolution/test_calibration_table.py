"""What a calibration says to people."""

from __future__ import annotations

from dataclasses import replace

from calibration_records import finalist, night

from evolution.calibration import LIFE, NULL
from evolution.calibration_table import Levels, calibration_table

LEVELS = Levels(null=0.005, planted=0.05, budget=0.05, years=3.0)
FINALIST = finalist()
NIGHT = night()


def table(*nights, words=None):
    return calibration_table(nights, words or {}, LEVELS)


def test_a_null_night_tells_false_promotions_with_their_interval_and_the_seed_score_beside():
    said = table(NIGHT, replace(NIGHT, number=1, outcome="promoted"), words={NULL: "all of it is luck"})
    assert said.splitlines()[:3] == [
        "null: 2 nights, of 200 candidates, vault of 3 years",
        "  all of it is luck",
        "  false promotions, one look at alpha 0.005: 1 of 2 (50.0%; 95% interval 1.3% to 98.7%); lower bound 2.5%",
    ]
    assert "by the seed score alone (best above 0, beats buy and hold): 2 of 2" in said
    assert "CPU for each: mean 12.0 s" in said


def test_a_planted_night_tells_power_check_by_check_at_its_own_level():
    lost = replace(NIGHT, number=1, outcome="empty", finalists=(replace(FINALIST, failed=("validation-psr",)),))
    said = table(*(replace(each, kind="planted-2") for each in (replace(NIGHT, outcome="promoted"), lost)))
    assert "promotions (power), one look at alpha 0.05: 1 of 2" in said
    (step,) = (line for line in said.splitlines() if line.strip().startswith("validation-psr"))
    assert "1 of 2" in step


def test_the_life_of_a_vault_tells_its_looks():
    vaults = (
        replace(NIGHT, kind=LIFE, looks=10, outcome="refused"),
        replace(NIGHT, kind=LIFE, number=1, looks=3, outcome="promoted"),
    )
    said = table(*vaults)
    assert "false promotions over the life of a vault, looks at alpha 0.005 from a budget of 0.05: 1 of 2" in said
    assert "looks: 13 in all; vaults whose budget was spent: 1 of 2" in said


def test_exhaustive_nights_tell_what_other_checks_and_a_spent_vault_would_have_come_to():
    said = table(replace(NIGHT, is_exhaustive=True, finalists=(replace(FINALIST, vault_psr=0.999),)))
    assert "with other checks, one look at alpha 0.005:" in said
    assert "with other checks, one look at alpha 0.05:" in said
    assert "finalists looked at in turn without any check until 0.05 is spent: 1 of 1" in said
