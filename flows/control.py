"""The control arm: the same operators and the same budget without selection, run when the search has stopped.

Evolution has to be better than luck with as many tries. The control is a run of its own in the store; its candidates count among the
trials that a Sharpe ratio is deflated by, and never come to admission.

Offline operators only: with a model, both arms would have to ask it equally often, and pay for it twice.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from evolution.afterwards import ArmReport, validate_arm
from evolution.plan import SearchPlan
from evolution.plural import plural
from evolution.pool import admission_bars
from evolution.pool.readings import ValidationReads
from evolution.pool.shelf import binding_of
from evolution.run import RunStatus
from evolution.search import Search
from flows import opening
from flows.night import Night
from flows.watch import SilentWatch

if TYPE_CHECKING:
    from collections.abc import Iterator


def run_control(night: Night) -> tuple[ArmReport, ArmReport]:
    """Run the control arm of a search that has stopped, look at both fronts on validation, and keep what was found.

    Goes on where it was cut short. Returns the search's report and the control's.
    """
    with _control_of(night) as control:
        night.watch.now(f"control arm {control.run_id}: {plural(len(night.trials), 'candidate')} without selection")
        with ThreadPoolExecutor(max_workers=night.settings.worker_count()) as pool:
            while control.search.end is None:
                list(pool.map(control.try_candidate, control.breed()))
                control.close_generation()
        reads = ValidationReads(engine=night.engine, now=night.now)
        with opening.runner(admission_bars(night.dataset), night.settings.cage, night.settings.cage_limits()) as runner:
            searched, sampled = (
                validate_arm(
                    arm.run_id,
                    arm.search.front,
                    evaluations=len(arm.trials),
                    dataset=night.dataset,
                    runner=runner,
                    config=night.settings.run_config(),
                    reads=reads,
                    binding=binding_of(night.ledger.run(arm.run_id)),
                )
                for arm in (night, control)
            )
    night.ledger.tell(night.run_id, arms={"evolution": searched.document(), "control": sampled.document()})
    return searched, sampled


@contextmanager
def _control_of(night: Night) -> Iterator[Night]:
    """The control's run: the one that was begun before, or a new one; finished when it is left without an error."""
    order = replace(
        night.order, control=False, control_of=night.run_id, resume=None, until=None, candidates=None, cpu_s=None
    )
    began = night.ledger.run(night.run_id).story.get("control")
    plan = {**night.facts.plan, "control_of": night.run_id}
    if began is None:
        record = night.ledger.start_run(replace(night.facts, plan=plan, note=f"control arm of {night.run_id}"))
        night.ledger.tell(night.run_id, control=record.id)
    else:
        record = night.ledger.run(str(began))
        if record.status is not RunStatus.FINISHED:
            record = night.ledger.reopen_run(record.id)
    budget = SearchPlan(
        generations=max(night.search.generation, 1),
        population=order.population,
        crossover_rate=order.crossover_rate,
        box_width=order.box_width,
        is_control=True,
    )
    control = Night(
        run_id=record.id,
        facts=record.facts,
        order=order,
        settings=night.settings,
        dataset=night.dataset,
        engine=night.engine,
        ledger=night.ledger,
        pool=night.pool,
        files=night.files,
        search=Search(budget, run_id=record.id, seed=order.seed, starters=len(night.starters)),
        bench=night.bench,
        cage=night.cage,
        foresight=night.foresight,
        models=None,
        watch=SilentWatch(),
        now=night.now,
        starters=night.starters,
        recalls=True,
    )
    control.recall(night.ledger.trials(record.id))
    try:
        yield control
    except BaseException:  # Ctrl-C included: whatever went wrong, it must not look as if it were still running
        if record.status is not RunStatus.FINISHED:
            night.ledger.finish_run(record.id, RunStatus.INTERRUPTED)
        raise
    if record.status is not RunStatus.FINISHED:
        night.ledger.finish_run(record.id, RunStatus.FINISHED)
