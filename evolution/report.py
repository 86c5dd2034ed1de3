"""The report of a run in words: what was tried, where it fell, what was best, and why nothing (or something) was good enough.

Pure functions of what ``evolution.summary`` gathered. Whatever a model or a candidate may have written is escaped for the medium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evolution.arms import arm_lines
from evolution.escaping import escape_markdown, escape_text
from evolution.llm.spending import spending_lines
from evolution.niches import are_alike
from evolution.plural import plural
from evolution.run import RunStatus
from evolution.story import going_on_lines
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evolution.pool import PoolEntry
    from evolution.run import FindingCount, Funnel, GenerationSummary
    from evolution.story import OperatorCount
    from evolution.summary import CheckRefusals, RunSummary
    from evolution.trial import Trial

CUT_SHORT = "cut short"
"""How a run stands that is stored as running while nobody works on it."""

_GENERATIONS = 10
# What is told of a step fits a narrow terminal, with its indent.
_NARROW = 78
# A line of a report is read at a glance; what is longer is cut, and the whole is in the store.
_LONGEST = 160


def render_text(summary: RunSummary) -> str:
    """The report for a terminal."""
    return "\n".join(_lines(summary, escape=escape_text, heading=lambda text: f"\n{text}", bullet="  ")).lstrip() + "\n"


def render_markdown(summary: RunSummary) -> str:
    """The report as Markdown, for a Prefect artifact or a file."""
    return (
        "\n".join(_lines(summary, escape=escape_markdown, heading=lambda text: f"\n## {text}\n", bullet="- ")).lstrip()
        + "\n"
    )


def verdict(summary: RunSummary) -> str:
    """The report in one sentence."""
    repeated = summary.record.facts.plan.get("replay")
    if repeated is not None:
        scored = summary.funnel.outcomes[TrialOutcome.SCORED]
        return f"replay of {repeated}: {plural(summary.funnel.total, 'candidate')}, {scored} scored; see that run for what became of them"
    if summary.entries:
        new = plural(len(summary.entries), "new pool entry", "new pool entries")
        return f"{new} from {plural(summary.funnel.total, 'candidate')}"
    if summary.known:
        names = ", ".join(summary.known[:5]) + (", ..." if len(summary.known) > 5 else "")
        return f"no new pool entry: {len(summary.known)} of its candidates are in the pool already ({names})"
    if summary.refused:
        return f"nothing was good enough: {_were(summary.refused)} considered for the pool, none was admitted"
    scored = summary.funnel.outcomes[TrialOutcome.SCORED]
    if scored:
        return f"nothing was good enough: {_shortfall(summary)}, of {scored} that were scored"
    if not summary.funnel.total:
        return "not one candidate was tried"
    return f"nothing was good enough: none of {plural(summary.funnel.total, 'candidate')} got a score that keeps to the limits"


def _were(count: int) -> str:
    return plural(count, "candidate was", "candidates were")


def _shortfall(summary: RunSummary) -> str:
    """Why nobody came to admission although some were scored."""
    card = summary.best[0].scorecard if summary.best else None
    if card is None or card.benchmark_score is None:
        return "none has a seed score to compare with buy and hold"
    if card.beats_buy_and_hold:
        return "none was put before admission"
    return f"none beats buy and hold on train (best {card.score:.3f} against {card.benchmark_score:.3f})"


def _lines(
    summary: RunSummary, *, escape: Callable[[str], str], heading: Callable[[str], str], bullet: str
) -> list[str]:
    sections = (
        (f"Run {summary.record.id}", _facts(summary)),
        ("Search", search_lines(summary)),
        ("With and without selection, as many candidates each", arm_lines(summary.record.story)),
        ("Funnel", _funnel(summary.funnel)),
        (_best_title(summary.best), _best_lines(summary.best)),
        ("How the best one came about", [_step(trial) for trial in summary.lineage]),
        ("Operators that made better children", [_operator(each) for each in summary.operators if each.better]),
        ("Most frequent findings", [_finding(finding) for finding in summary.findings]),
        ("Front on train, generation by generation", _generations(summary)),
        ("Refused at admission, check by check", [_refusals(each) for each in summary.refusals]),
        ("New pool entries", [_entry(entry) for entry in summary.entries]),
        ("Models", spending_lines(summary.spending)),
    )
    return [
        line
        for title, lines in sections
        if lines
        for line in (heading(escape(title)), *(bullet + escape(shorten(text)) for text in lines))
    ]


def _facts(summary: RunSummary) -> list[str]:
    facts, record = summary.record.facts, summary.record
    end = "" if record.finished is None else f", until {record.finished:%Y-%m-%d %H:%M} UTC"
    model = "offline" if facts.profile is None else f"model profile {facts.profile}"
    return [
        verdict(summary),
        f"{standing(summary)}; from {record.created:%Y-%m-%d %H:%M} UTC{end}",
        *going_on_lines(record.story),
        *_way_on(summary),
        f"data {facts.dataset} ({facts.dataset_sha256[:12]}), seed {facts.seed}, {model}, engine {facts.engine_version}",
        *([facts.note] if facts.note else []),
    ]


def standing(summary: RunSummary) -> str:
    """How the run stands, in the words of people."""
    return CUT_SHORT if summary.is_cut_short else summary.record.status.value


def _way_on(summary: RunSummary) -> list[str]:
    ended_early = summary.record.status in {RunStatus.INTERRUPTED, RunStatus.FAILED}
    if not (summary.is_cut_short or ended_early):
        return []
    why = None if summary.is_cut_short else summary.record.story.get("interruption")
    return [*([f"why: {why}"] if why else []), f"go on with it: {resume_command(summary.record.id)}"]


def resume_command(run_id: str) -> str:
    """What a person types to go on with a run."""
    return f"trigate evolve --resume {run_id}"


def ending_lines(summary: RunSummary) -> list[str]:
    """What stopped the search, in one line; none where nobody wrote it down."""
    story = summary.record.story
    if "stop" in story:
        return [f"stopped before generation {story['stop']['generation']}: {story['stop']['reason']}"]
    return [f"ended: {story['end']}"] if "end" in story else []


def search_lines(summary: RunSummary) -> list[str]:
    """What ended the search, what memory spared it, and what else it wrote down on the way."""
    story, memory = summary.record.story, summary.memory
    lines = [
        *ending_lines(summary),
        (
            f"not evaluated again: {plural(memory.redrawn, 'known draw')}, "
            f"{plural(memory.duplicates, 'duplicate')} in behaviour, {memory.recalled} recalled"
        ),
    ]
    if story.get("restarts"):
        lines.append(f"{plural(story['restarts'], 'time')} the weakest island started anew")
    if "heritage" in story:
        lines.append(str(story["heritage"]))
    return lines


def _step(trial: Trial) -> str:
    candidate, card = trial.candidate, trial.scorecard
    score = "" if card is None or card.score is None else f" {card.score:.3f}"
    change = f": {candidate.provenance.detail}" if candidate.provenance.detail else ""
    return _fitted(f"{candidate.id}{score} {trial.outcome.value}, {candidate.provenance.operator}{change}")


def _operator(count: OperatorCount) -> str:
    return f"{count.operator}: {count.better} of {count.children} better than their parents, {count.scored} scored"


def _funnel(funnel: Funnel) -> list[str]:
    """Where candidates ended, the best ends first; what did not happen is not said."""
    gates = ", ".join(f"gate {gate}: {count}" for gate, count in sorted(funnel.rejected_by_gate.items()) if count)
    ends = [
        f"{funnel.outcomes[outcome]} {outcome.value}" + (f" ({gates})" if outcome is TrialOutcome.REJECTED else "")
        for outcome in reversed(TrialOutcome)
        if funnel.outcomes[outcome]
    ]
    return [plural(funnel.total, "candidate") + (f": {', '.join(ends)}" if ends else "")]


def _best_title(best: Sequence[Trial]) -> str:
    marks = {trial.scorecard.benchmark_score for trial in best if trial.scorecard is not None}
    mark = marks.pop() if len(marks) == 1 else None
    return "Best by seed score on train" + ("" if mark is None else f" (buy and hold: {mark:.3f})")


def _best_lines(best: Sequence[Trial]) -> list[str]:
    """Near-copies are named as such: only the best of them is ever put before admission."""
    lines = []
    originals: list[Trial] = []
    for trial in best:
        original = next((other for other in originals if are_alike(trial.rhythm, other.rhythm)), None)
        if original is None:
            originals.append(trial)
        by = (
            f"by {trial.candidate.provenance.operator.removeprefix('offline/')}"
            if original is None
            else f"earns like {original.candidate.id}"
        )
        lines.append(f"{_best(trial)}, {by}")
    return lines


def _best(trial: Trial) -> str:
    card = trial.scorecard
    assert card is not None and card.score is not None  # noqa: PT018 - best_trials chose it for its score
    return f"{trial.candidate.id}: score {card.score:.3f}, {plural(card.trades, 'round trip')}, drawdown {card.max_drawdown:.1%}"


def _finding(finding: FindingCount) -> str:
    return f"{finding.candidates} x gate {finding.gate} {finding.rule}: {finding.message}"


def _generations(summary: RunSummary) -> list[str]:
    """The generations that moved the front most, the first and the last; then what little of it was seen on validation."""
    all_of_them = summary.generations
    volumes = [0.0, *(each.hypervolume or 0.0 for each in all_of_them)]
    gains = {
        each.generation: after - before for each, before, after in zip(all_of_them, volumes, volumes[1:], strict=False)
    }
    ends = {each.generation for each in (*all_of_them[:1], *all_of_them[-1:])}
    ranked = sorted(gains, key=lambda number: (number not in ends, -gains[number], number))
    shown = set(ranked[:_GENERATIONS])
    lines = [_generation(each) for each in all_of_them if each.generation in shown]
    if len(shown) < len(gains):
        lines.append(
            f"the other {len(gains) - len(shown)} moved the front by at most {max(gains[each] for each in ranked[_GENERATIONS:]):.4f}"
        )
    if summary.validation is not None:
        sources = plural(summary.validation.reads, "source")
        lines.append(f"validation: hypervolume {summary.validation.volume:.4f} of {sources} read there")
    return lines


def _generation(generation: GenerationSummary) -> str:
    volume = "none" if generation.hypervolume is None else f"{generation.hypervolume:.4f}"
    ends = [(outcome.value, generation.counts.get(outcome.value, 0)) for outcome in reversed(TrialOutcome)]
    counts = ", ".join(f"{count} {name}" for name, count in ends if count)
    return f"generation {generation.generation}: hypervolume {volume}; {counts or 'no trials'}"


def _refusals(refusals: CheckRefusals) -> str:
    nearest = refusals.nearest
    return f"{refusals.check} refused {refusals.candidates}; nearest {nearest.candidate_id}: {nearest.sentence}"


def _entry(entry: PoolEntry) -> str:
    blind = "" if not entry.models else f", not blind (models in its ancestry: {', '.join(entry.models)})"
    return f"{entry.id}: {entry.candidate_id}, score {entry.score:.3f}, source {entry.source.sha256[:12]}{blind}"


def _fitted(line: str) -> str:
    return line if len(line) <= _NARROW else f"{line[: _NARROW - 3]}..."


def shorten(text: str) -> str:
    """One line of bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
