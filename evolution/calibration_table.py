"""A calibration as a table for people: rates with their intervals, the loss check by check, and what was compared with what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from evolution.calibration import (
    LIFE,
    NULL,
    VARIANTS,
    NightRecord,
    attrition,
    is_promoted,
    promotes_by_score,
    rate,
    rate_of,
    spends_its_vault,
    would_promote,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What the looks of a calibration ask for."""

    null: float
    """Level of a look on bars without an edge."""
    planted: float
    """Level of a look on bars with one."""
    budget: float
    """Most that the levels of all looks at one vault add up to."""
    years: float
    """Length of the vault."""

    def of(self, kind: str) -> float:
        """The level on nights of a kind."""
        return self.null if kind in {NULL, LIFE} else self.planted


def calibration_table(records: Sequence[NightRecord], words: Mapping[str, str], levels: Levels) -> str:
    """The result, for people.

    Args:
        records: nights of any kinds.
        words: a word on each kind's market.
        levels: what the looks asked for.
    """
    lines: list[str] = []
    for kind in sorted({record.kind for record in records}):
        nights = [record for record in records if record.kind == kind]
        mean = sum(night.candidates for night in nights) / len(nights)
        thing = "vaults, each looked at after several nights" if kind == LIFE else "nights"
        lines += ["", f"{kind}: {len(nights)} {thing}, of {mean:.0f} candidates, vault of {levels.years:g} years"]
        lines += [f"  {words[kind]}"] if words.get(kind) else []
        lines += _life(nights, levels) if kind == LIFE else _nights(nights, kind, levels)
        lines.append(f"  CPU for each: mean {sum(night.cpu_s for night in nights) / len(nights):.1f} s")
    return "\n".join(lines).lstrip()


def _nights(nights: Sequence[NightRecord], kind: str, levels: Levels) -> list[str]:
    alpha, promoted = levels.of(kind), rate_of(nights, is_promoted)
    name = "false promotions" if kind == NULL else "promotions (power)"
    looked = rate_of(nights, lambda night: night.outcome in {"promoted", "failed"})
    lines = [
        f"  {name}, one look at alpha {alpha:g}: {promoted}; lower bound {promoted.lower_bound:.1%}",
        f"  promoted by the seed score alone (best above 0, beats buy and hold): {rate_of(nights, promotes_by_score)}",
        f"  nights with a look: {looked}",
        "  check by check, nights with at least one candidate left:",
        *(f"    {step.check:<24} {step.left}" for step in attrition(nights)),
    ]
    exhaustive = [night for night in nights if night.is_exhaustive]
    return [*lines, *(_exhaustive(exhaustive, kind, levels) if exhaustive else [])]


def _life(vaults: Sequence[NightRecord], levels: Levels) -> list[str]:
    promoted = rate_of(vaults, is_promoted)
    looks = sum(vault.looks for vault in vaults)
    spent = rate_of(vaults, lambda vault: vault.outcome == "refused")
    return [
        f"  false promotions over the life of a vault, looks at alpha {levels.null:g} from a budget of {levels.budget:g}: {promoted}",
        f"  looks: {looks} in all; vaults whose budget was spent: {spent}",
    ]


def _exhaustive(nights: Sequence[NightRecord], kind: str, levels: Levels) -> list[str]:
    lines: list[str] = []
    for level in dict.fromkeys((levels.of(kind), 0.05)):
        lines.append(f"  with other checks, one look at alpha {level:g}:")
        for variant in VARIANTS:
            found = rate_of(nights, partial(would_promote, variant=variant, alpha=level))
            lines.append(f"    {variant.name:<46} {found}")
    values = [each.vault_psr for night in nights for each in night.finalists if each.vault_psr is not None]
    if kind == NULL and values:
        spent = rate_of(nights, partial(spends_its_vault, alpha=levels.null, budget=levels.budget))
        lines.append(
            f"  the life of a vault, finalists looked at in turn without any check until {levels.budget:g} is spent: {spent}"
        )
        for level in (0.05, 0.005):
            beyond = rate(sum(value > 1 - level for value in values), len(values))
            lines.append(
                f"  the look itself, on all finalists: PSR above {1 - level:g} in {beyond} (several a night, so not independent)"
            )
    return lines
