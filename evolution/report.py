"""The report of a run: what was tried, where it fell, what was best, and why nothing (or something) was good enough.

``run_summary`` gathers stored values; the renderers are pure functions of what it gathered, so a report of an old run
always reads the same. Whatever a model or a candidate may have written is escaped for the medium.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evolution.afterwards import ValidationReport, validation_report
from evolution.arms import arm_lines
from evolution.llm.spending import Spending, spending_lines
from evolution.niches import are_alike
from evolution.pool.checks import CHECKS
from evolution.run import RunStatus
from evolution.story import MemoryCount, OperatorCount, going_on_lines, lineage_of, memory_of, operators_of
from evolution.trial import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evolution.ledger import TrialLedger
    from evolution.pool import Pool, PoolEntry, Refusal
    from evolution.run import FindingCount, Funnel, GenerationSummary, RunRecord
    from evolution.trial import Trial

CUT_SHORT = "cut short"
"""How a run stands that is stored as running while nobody works on it."""

_BEST = 5
_OPERATORS = 6
_GENERATIONS = 10
# What is told of a step fits a narrow terminal, with its indent.
_NARROW = 78
# A line of a report is read at a glance; what is longer is cut, and the whole is in the store.
_LONGEST = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRefusals:
    """How one admission check went over a run."""

    check: str
    candidates: int
    """Candidates that it refused."""
    nearest: Refusal
    """The refused figure that came nearest to the limit; undefined figures are farthest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """All that a report of one run says."""

    record: RunRecord
    funnel: Funnel
    best: tuple[Trial, ...]
    """SCORED trials with the highest seed scores, best first."""
    findings: tuple[FindingCount, ...]
    """The rules that refused most candidates."""
    generations: tuple[GenerationSummary, ...]
    refusals: tuple[CheckRefusals, ...]
    """In the order of the checks."""
    refused: int
    """Candidates that were considered for the pool and not admitted."""
    entries: tuple[PoolEntry, ...]
    """Pool entries that came from this run."""
    known: tuple[str, ...] = ()
    """Pool entries of other runs whose very source this run scored, too."""
    spending: Spending = field(default_factory=lambda: Spending(profiles=()))
    """What its calls to models used."""
    is_cut_short: bool = False
    """Nobody works on it any more, though nobody wrote down an end: its process was killed."""
    memory: MemoryCount = field(default_factory=MemoryCount)
    """What was not evaluated again."""
    operators: tuple[OperatorCount, ...] = ()
    """The most useful ones first."""
    validation: ValidationReport | None = None
    """What admission's reads came to; None when it read nobody."""
    lineage: tuple[Trial, ...] = ()
    """From a starter to the candidate with the highest seed score."""


def run_summary(
    ledger: TrialLedger,
    pool: Pool,
    run_id: str,
    *,
    is_cut_short: bool = False,
    trials: Sequence[Trial] | None = None,
) -> RunSummary:
    """Gather what is stored about a run.

    Args:
        ledger: holds the run.
        pool: of the same store.
        run_id: its id, or the beginning of it.
        is_cut_short: what the caller knows of the run's process; the store does not.
        trials: all of the run, where the caller has read them already.

    Raises:
        UnknownIdError: There is no such run.
    """
    record = ledger.run(run_id)
    refusals = pool.refusals(record.id)
    trials = ledger.trials(record.id) if trials is None else trials
    best = best_trials(trials)
    return RunSummary(
        record=record,
        funnel=ledger.funnel(record.id),
        best=best,
        memory=memory_of(trials),
        operators=operators_of(trials)[:_OPERATORS],
        lineage=lineage_of(best[0], {trial.candidate.id: trial for trial in trials}) if best else (),
        findings=ledger.frequent_findings(record.id),
        generations=ledger.generations(record.id),
        refusals=refusals_by_check(refusals),
        validation=validation_report(pool.validation_reads(record.id)),
        refused=len({refusal.candidate_id for refusal in refusals}),
        entries=pool.list(run_id=record.id),
        known=_known(pool, record, trials),
        spending=ledger.spending(record.id),
        is_cut_short=is_cut_short,
    )


def _known(pool: Pool, record: RunRecord, trials: Sequence[Trial]) -> tuple[str, ...]:
    scored = {trial.candidate.source.sha256 for trial in trials if trial.outcome is TrialOutcome.SCORED}
    return tuple(
        entry.id
        for entry in pool.list()
        if entry.run_id != record.id
        and entry.source.sha256 in scored
        and entry.binding.dataset_sha256 == record.facts.dataset_sha256
    )


def best_trials(trials: Iterable[Trial], *, limit: int = _BEST) -> tuple[Trial, ...]:
    """SCORED trials by seed score, best first; equal ones in order of their ids."""
    scored = [
        (trial.scorecard.score, trial)
        for trial in trials
        if trial.outcome is TrialOutcome.SCORED and trial.scorecard is not None and trial.scorecard.score is not None
    ]
    ranked = sorted(scored, key=lambda pair: (-pair[0], pair[1].candidate.id))
    return tuple(trial for _, trial in ranked[:limit])


def refusals_by_check(refusals: Sequence[Refusal]) -> tuple[CheckRefusals, ...]:
    """Refusals per check, in the order in which the checks are made."""
    order = {check.name: place for place, check in enumerate(CHECKS)}
    counts = Counter(refusal.check for refusal in refusals)
    names = sorted(counts, key=lambda name: (order.get(name, len(order)), name))
    return tuple(
        CheckRefusals(
            check=name,
            candidates=counts[name],
            nearest=min((each for each in refusals if each.check == name), key=refusal_distance),
        )
        for name in names
    )


def refusal_distance(refusal: Refusal) -> tuple[bool, float, str]:
    """Sorts refusals by how near their figure came to the limit; undefined figures are farthest."""
    is_undefined = refusal.figure is None
    return is_undefined, abs((refusal.figure or 0.0) - refusal.limit), refusal.candidate_id


# Rendering


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
        return f"replay of {repeated}: {summary.funnel.total} candidates, {scored} scored; see that run for what became of them"
    if summary.entries:
        count = len(summary.entries)
        return f"{count} new pool {'entry' if count == 1 else 'entries'} from {summary.funnel.total} candidates"
    if summary.known:
        names = ", ".join(summary.known[:5]) + (", ..." if len(summary.known) > 5 else "")
        return f"no new pool entry: {len(summary.known)} of its candidates are in the pool already ({names})"
    if summary.refused:
        return f"nothing was good enough: {summary.refused} candidates were considered for the pool, none was admitted"
    scored = summary.funnel.outcomes[TrialOutcome.SCORED]
    if scored:
        return f"nothing was good enough: {_shortfall(summary)}, of {scored} that were scored"
    if not summary.funnel.total:
        return "not one candidate was tried"
    return f"nothing was good enough: none of {summary.funnel.total} candidates got a score that keeps to the limits"


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
            f"not evaluated again: {memory.redrawn} known draws, {memory.duplicates} duplicates in behaviour, "
            f"{memory.recalled} recalled"
        ),
    ]
    if story.get("restarts"):
        lines.append(f"{story['restarts']} times the weakest island started anew")
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
    return [f"{funnel.total} candidates" + (f": {', '.join(ends)}" if ends else "")]


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
    return f"{trial.candidate.id}: score {card.score:.3f}, {card.trades} round trips, drawdown {card.max_drawdown:.1%}"


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
        count = summary.validation.reads
        sources = "source" if count == 1 else "sources"
        lines.append(f"validation: hypervolume {summary.validation.volume:.4f} of {count} {sources} read there")
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


# Escaping


def shorten(text: str) -> str:
    """One line of bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def escape_text(text: str) -> str:
    r"""Text in which every character shows: control and bidirectional characters, surrogates and the like as escapes.

    >>> escape_text("red \x1b[31m")
    'red \\x1b[31m'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


# Addresses too: some renderers make links of bare ones.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~>&<$@-]|:(?=//)|(?<=www)\.)")


def escape_markdown(text: str) -> str:
    r"""Text that Markdown shows as it is: no links, no emphasis, no tables, no HTML.

    >>> print(escape_markdown("<b>[x](y)</b>"))
    &lt;b\>\[x\]\(y\)&lt;/b\>
    """
    escaped = _MARKDOWN.sub(r"\\\1", escape_text(text))
    return escaped.replace(r"\&", "&amp;").replace(r"\<", "&lt;")


# Emphasis, code, links, images, HTML, addresses, and what begins a heading, a quotation or a list. Brackets in words and dashes in
# names act nowhere, and some pages show a table's cells as they are: there an escape would be all that is seen of it.
_ACTIVE = re.compile(r"([\\`*\[\]~&<$@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.|^[#>+|-]|(?<=^\d)[.)]|(?<=^\d\d)[.)])")


def escape_cell(text: str) -> str:
    r"""One line that Markdown shows as it is, with no more escapes than that takes.

    >>> print(escape_cell("offline/param_jitter (limit 30.00%) ![x](http://y)"))
    offline/param_jitter (limit 30.00%) !\[x\](http\://y)
    """
    escaped = _ACTIVE.sub(r"\\\1", " ".join(escape_text(text).split()))
    return escaped.replace(r"\&", "&amp;").replace(r"\<", "&lt;")
