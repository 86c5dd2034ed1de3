"""A night with a model, whatever goes wrong: nobody is lost, nothing is paid twice, and all of it can be run again."""

import contextlib
import os
import re
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from evolution.ledger import TrialLedger
from evolution.llm.ledger import spending, stored_calls
from evolution.operators import canonical_hash
from evolution.pool import Pool
from evolution.run import RunStatus
from evolution.trial import TrialOutcome
from flows import opening
from flows.admission import admit_finalists
from flows.clock import now
from flows.night import NightOutage
from flows.problems import UsageProblem
from flows.replay import in_words, strays
from flows.settings import Settings
from flows.start import new_order, open_night, replayed_order, stored_order
from flows.watch import SilentWatch
from runtime.source import Language

KEY = "canary-key-7f3a91c2d4"
KEY_NAME = "TRIGATE_TEST_KEY"
ANSWERED = {"text", "truncated", "refused", "empty", "tool_call"}


class Told(SilentWatch):
    """A watch that remembers what was said."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


@pytest.fixture(scope="session")
def small_set(tmp_path_factory):
    """A file of one symbol, large enough for a split and small enough for many nights."""
    rng, price = np.random.default_rng(5), 100.0
    lines = ["timestamp,open,high,low,close,volume"]
    for number in range(2_100):
        day = date(2000, 1, 3) + timedelta(days=number)
        if day.weekday() < 5:
            opened, price = price, price * float(np.exp(rng.normal(0.0004, 0.015)))
            low, high = min(opened, price) * 0.995, max(opened, price) * 1.005
            lines.append(f"{day},{opened:.4f},{high:.4f},{low:.4f},{price:.4f},1000000")
    file = tmp_path_factory.mktemp("data") / "small.csv"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


@pytest.fixture
def settings_for(small_set):
    """Settings with one profile per server: ``settings_for(server, budget={...}, profile={...})``."""

    def make(*servers, generations=2, population=6, share=1.0, profile=None, models=None, data=small_set, **sections):
        profiles = {
            name: {"name": name, "base_url": server.base_url, "model": "scripted", **(profile or {})}
            for name, server in zip("abc", servers, strict=False)
        }
        search = {"generations": generations, "population": population, "llm_share": share}
        models = {"patience_s": 0.0, **(models or {})}
        return Settings.model_validate({"data": data, "search": search, "models": models, "llm": profiles, **sections})

    return make


def go_on(settings, home, order, *, workers=1, watch=None, admit=False):
    """A night without Prefect, up to its end or its outage; its id. Admission takes most of the time, so it is asked for."""
    with open_night(settings, home, watch or Told(), order) as night:
        while night.search.end is None:
            with ThreadPoolExecutor(workers) as pool:
                ended = [pool.submit(night.try_candidate, identity) for identity in night.breed()]
            outages = [each.exception() for each in ended if each.exception() is not None]
            for outage in outages:
                raise outage
            night.close_generation()
        if admit:
            admit_finalists(night)
    return night.run_id


def begin(settings, home, *, seed=3, profile="a", **options):
    return go_on(settings, home, new_order(settings, seed=seed, profile=profile), **options)


def run_through(settings, home, *, seed=3, profile="a", **options):
    """A night that is resumed as often as it takes; its id, and how often it was."""
    order, stops = new_order(settings, seed=seed, profile=profile), []
    while True:
        try:
            return go_on(settings, home, order, **options), stops
        except NightOutage as outage:
            stops.append(str(outage))
            assert len(stops) < 60
            order = stored_order(opening.engine(home), only_run(home))


def only_run(home):
    return TrialLedger(opening.engine(home), now=now).runs()[0].record.id


def trials_of(home, run_id):
    return {trial.candidate.id: trial for trial in TrialLedger(opening.engine(home), now=now).trials(run_id)}


def pool_of(home):
    entries = Pool(opening.engine(home), now=now).list()
    return [(entry.source.sha256, entry.score, entry.card, entry.run_id, entry.candidate_id) for entry in entries]


def everything(engine):
    """All values of all tables, and what is inside of those that are compressed."""
    with engine.connect() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
        for name in names:
            for row in connection.execute(text(f'SELECT * FROM "{name}"')):
                for value in row:
                    yield repr(value).encode()
                    if isinstance(value, bytes):
                        with contextlib.suppress(zlib.error):  # not every value is compressed
                            yield zlib.decompress(value)


@pytest.mark.slow
def test_a_night_meets_every_fault_once_and_its_replay_gives_the_identical_pool(
    tmp_path, monkeypatch, settings_for, llm_server
):
    """Every fault of the server, one after the other, with children of every kind in the pool at the end."""
    monkeypatch.setenv(KEY_NAME, KEY)
    modes = sorted(llm_server.MODES)
    plan = [mode for each in modes for mode in ("violating", each)]
    with llm_server.ScriptedServer(plan, key=KEY, seed=0) as server:
        settings = settings_for(
            server,
            generations=5,
            population=16,
            data="planted-edge",
            profile={"key_env": KEY_NAME, "timeouts": {"read_s": 2.0, "call_s": 8.0}},
        )
        run_id, stops = run_through(settings, tmp_path, seed=3, admit=True)
    assert {seen.mode for seen in server.seen} >= set(modes)
    assert len(stops) > 10
    engine = opening.engine(tmp_path)
    trials, records = trials_of(tmp_path, run_id), stored_calls(engine, run_id)

    # Nobody is lost: each place has its trial, and only what no model can answer left one empty.
    assert len(trials) == 5 * 16
    empty = [trial for trial in trials.values() if trial.outcome is TrialOutcome.BARREN and trial.candidate.generation]
    assert len(empty) <= 4, [trial.reason for trial in empty]

    # Nothing is paid twice: each question has one answer, and each request of the server is in the ledger.
    answers = Counter((each.subject, each.ordinal) for each in records if each.outcome in ANSWERED)
    assert set(answers.values()) == {1}
    assert len(server.seen) == len(records)

    pooled = {trials[entry[4]].candidate.provenance.operator for entry in pool_of(tmp_path)}
    assert {"llm/mutate", "llm/crossover"} <= {name.removesuffix("+repair") for name in pooled}
    assert any(name.endswith("+repair") for name in pooled), pooled

    # The same night with the server off.
    monkeypatch.delenv(KEY_NAME)
    before = pool_of(tmp_path)
    again = go_on(settings, tmp_path, replayed_order(engine, run_id), workers=2, admit=True)
    assert strays(trials, trials_of(tmp_path, again)) == ()
    assert pool_of(tmp_path) == before
    assert stored_calls(engine, again) == ()
    assert spending(engine, again).profiles == ()

    # The key is nowhere: neither in the database, whatever is compressed in it, nor in any file of the home.
    assert not [value for value in everything(engine) if KEY.encode() in value]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_night_that_was_cut_short_asks_nothing_again(tmp_path, settings_for, llm_server):
    """Killed in the middle of a generation and resumed, against one that was not: the same candidates, the same bill."""
    with llm_server.ScriptedServer() as server:
        settings = settings_for(server)
        whole = begin(settings, tmp_path / "whole")
        asked = len(server.seen)
        order = new_order(settings, seed=3, profile="a")
        with pytest.raises(NightOutage), open_night(settings, tmp_path / "cut", Told(), order) as night:  # noqa: PT012 - it dies inside
            for identity in night.breed():
                night.try_candidate(identity)
            night.close_generation()
            for identity in reversed([*night.breed()][2:]):
                night.try_candidate(identity)
            raise NightOutage("cut short")
        middle = len(server.seen)
        engine = opening.engine(tmp_path / "cut")
        cut = go_on(settings, tmp_path / "cut", stored_order(engine, night.run_id))
    assert asked < middle < 2 * asked
    assert len(server.seen) == 2 * asked
    assert strays(trials_of(tmp_path / "whole", whole), trials_of(tmp_path / "cut", cut)) == ()


def test_an_answer_that_was_paid_for_before_the_process_died_is_used(tmp_path, settings_for, llm_server, monkeypatch):
    """The gates die of something while they judge a child: its place is open, its answer is stored."""
    import flows.night

    with llm_server.ScriptedServer() as server:
        settings = settings_for(server)
        order = new_order(settings, seed=3, profile="a")
        with monkeypatch.context() as patched:
            patched.setattr(flows.night.Rehearsal, "judge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt), open_night(settings, tmp_path, Told(), order) as night:  # noqa: PT012 - it dies inside
                for identity in night.breed():
                    night.try_candidate(identity)
                night.close_generation()
                night.try_candidate(next(night.breed()))
        assert len(server.seen) == 1
        run_id = go_on(settings, tmp_path, stored_order(opening.engine(tmp_path), night.run_id))
        assert len(server.seen) == len(
            {(each.subject, each.ordinal) for each in stored_calls(opening.engine(tmp_path), run_id)}
        )


def test_a_night_of_documents_is_stopped_resumed_and_replayed_with_no_answer_paid_twice(
    tmp_path, settings_for, llm_server
):
    """A model writes documents beside Python files; outages, faults and refusals of theirs are dealt with the same."""
    plan = ("edit", "violating", "401", "length", "edit", "500", "prose", "edit", "429-quota", "edit")
    with llm_server.ScriptedServer(plan) as server:
        settings = settings_for(server, population=9, profile={"attempts": 1}, models={"scratch_share": 0.2})
        order = replace(new_order(settings, seed=3, profile="a"), documents=True)
        stops = 0
        while True:
            try:
                run_id = go_on(settings, tmp_path, order)
                break
            except NightOutage:
                stops += 1
                order = stored_order(opening.engine(tmp_path), only_run(tmp_path))
                assert order.documents
    assert stops >= 2
    records, trials = stored_calls(opening.engine(tmp_path), run_id), trials_of(tmp_path, run_id)
    assert len(records) == len(server.seen)
    answers = Counter((each.subject, each.ordinal) for each in records if each.outcome in ANSWERED)
    assert set(answers.values()) == {1}
    written = [trial.candidate for trial in trials.values() if trial.candidate.provenance.model is not None]
    assert {each.source.language for each in written} == set(Language)
    documents = [each for each in written if each.source.language is Language.SIR]
    assert all(trials[each.id].outcome not in {TrialOutcome.FAILED, TrialOutcome.KILLED} for each in documents)
    assert len({canonical_hash(each.source) for each in documents}) > 1
    seen = len(server.seen)
    again = go_on(settings, tmp_path, replayed_order(opening.engine(tmp_path), run_id))
    assert len(server.seen) == seen
    repeated = trials_of(tmp_path, again)
    assert {key: trial.candidate.source.sha256 for key, trial in repeated.items()} == {
        key: trial.candidate.source.sha256 for key, trial in trials.items()
    }


def test_a_child_that_raises_only_in_the_backtest_is_repaired_once(tmp_path, settings_for, llm_server):
    """The dry run is shorter than a cell: the gates admit what raises after it, and its author is told by line and type."""
    with llm_server.ScriptedServer(["raising-late"]) as server:
        settings = settings_for(server, population=4)
        run_id = begin(settings, tmp_path)
    first, second = server.seen[:2]
    assert first.mode == "raising-late"
    demand = second.body["messages"][3]["content"]
    assert "raises ValueError in on_bar, on bars of the backtest" in demand
    assert "IGNORE_ALL_RULES" not in second.text
    trials = trials_of(tmp_path, run_id)
    (repaired,) = [each for each in trials.values() if each.candidate.provenance.operator.endswith("+repair")]
    assert repaired.outcome in {TrialOutcome.SCORED, TrialOutcome.VETOED}
    again = go_on(settings, tmp_path, replayed_order(opening.engine(tmp_path), run_id))
    assert strays(trials, trials_of(tmp_path, again)) == ()


def test_a_child_that_raises_again_is_stored_as_failed_and_asked_for_no_third_time(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer(["raising-ever"] * 2) as server:
        run_id = begin(settings_for(server, population=4), tmp_path)
    failed = [trial for trial in trials_of(tmp_path, run_id).values() if trial.outcome is TrialOutcome.FAILED]
    assert [each.mode for each in server.seen[:3]] == ["raising-ever", "raising-ever", "edit"]
    (trial,) = failed
    assert trial.gate is None
    assert trial.candidate.provenance.operator.endswith("+repair")
    assert "ValueError in on_bar" in trial.reason


def test_a_replay_needs_a_finished_run_with_the_same_data_and_costs(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer(["401"]) as server:
        settings = settings_for(server)
        with pytest.raises(NightOutage, match="check the key by key_env"):
            begin(settings, tmp_path)
        engine, run_id = opening.engine(tmp_path), only_run(tmp_path)
        with pytest.raises(UsageProblem, match=r"has not finished .interrupted.: --resume it"):
            replayed_order(engine, run_id)
        go_on(settings, tmp_path, stored_order(engine, run_id))
    other = settings.model_copy(update={"run": settings.run.model_copy(update={"fee_bps": 50.0})})
    with pytest.raises(UsageProblem, match="config hash"):
        go_on(other, tmp_path, replayed_order(engine, run_id))
    again = go_on(settings, tmp_path, replayed_order(engine, run_id))
    with pytest.raises(UsageProblem, match=f"itself a replay: name the run that it repeats, {run_id}"):
        replayed_order(engine, again)


def test_a_replay_with_another_prompt_says_what_is_missing_and_asks_nobody(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer() as server:
        settings = settings_for(server)
        run_id = begin(settings, tmp_path)
        asked = len(server.seen)
        changed = settings_for(server, profile={"max_tokens": 2_000})
        with pytest.raises(
            NightOutage, match=f"run {run_id} has no stored end of question 1 .*replay with the settings"
        ):
            go_on(changed, tmp_path, replayed_order(opening.engine(tmp_path), run_id))
        assert len(server.seen) == asked


def test_an_outage_that_passes_holds_the_run_and_eats_nobody(tmp_path, settings_for, llm_server):
    """The endpoint is down for longer than one call's attempts; the run waits, says so once, and goes on by itself."""
    with llm_server.ScriptedServer(["500"] * 3) as server:
        settings = settings_for(server, profile={"attempts": 1}, models={"patience_s": 600.0})
        watch = Told()
        order = new_order(settings, seed=3, profile="a")
        with open_night(settings, tmp_path, watch, order) as night:
            night.models._patience._pause = lambda seconds: watch.lines.append(f"paused {seconds:.0f} s")
            while night.search.end is None:
                for identity in night.breed():
                    night.try_candidate(identity)
                night.close_generation()
    assert [line for line in watch.lines if line.startswith("paused")] == ["paused 30 s"] * 3
    (said,) = [line for line in watch.lines if "waits up to 600 s for its model" in line]
    assert "retryable/server" in said
    trials = trials_of(tmp_path, night.run_id)
    assert len(trials) == 12
    assert TrialOutcome.BARREN not in {trial.outcome for trial in trials.values() if trial.candidate.generation}


def test_an_outage_without_an_end_stops_the_run_with_its_places_open(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer(["edit", *["429-quota"] * 99]) as server:
        settings = settings_for(server)
        with pytest.raises(NightOutage, match="top up the account, or choose another profile"):
            begin(settings, tmp_path)
    record = TrialLedger(opening.engine(tmp_path), now=now).run(only_run(tmp_path))
    assert record.status is RunStatus.INTERRUPTED
    assert len(trials_of(tmp_path, record.id)) == 7
    assert len(server.seen) == 2, "nobody asks any more after a lasting outage"


def test_offline_operators_step_in_only_when_asked_and_each_child_says_so(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer(["edit", "edit", *["429-quota"] * 99]) as server:
        settings = settings_for(server, models={"on_failure": "offline"})
        run_id = begin(settings, tmp_path)
    trials = trials_of(tmp_path, run_id)
    children = [trial.candidate.provenance for trial in trials.values() if trial.candidate.generation]
    fallen = [each for each in children if each.operator.endswith("+fallback")]
    assert len(children) == 6
    assert len(fallen) >= 3
    for each in fallen:
        assert each.operator.startswith("offline/")
        assert each.model is None
        assert "fatal/quota" in each.detail
        assert each.detail.startswith("llm/")
    server.close()
    again = go_on(settings, tmp_path, replayed_order(opening.engine(tmp_path), run_id))
    assert strays(trials, trials_of(tmp_path, again)) == ()


@pytest.mark.parametrize(
    ("scope", "stops"), [("generation", False), ("run", True), ("day", True), ("candidate", False)]
)
def test_a_ceiling_ends_what_it_covers_and_nothing_else(tmp_path, settings_for, llm_server, scope, stops):
    with llm_server.ScriptedServer(["violating"] * 2) as server:
        tokens = {"generation": 18_000, "candidate": 13_200}.get(scope, 28_000)
        settings = settings_for(server, generations=3, budget={scope: {"tokens": tokens}})
        if stops:
            with pytest.raises(NightOutage, match=rf"\[budget.{scope}\] tokens = {tokens}.*raise it to go on"):
                begin(settings, tmp_path)
            run_id = only_run(tmp_path)
            raised = settings_for(server, generations=3)
            go_on(raised, tmp_path, stored_order(opening.engine(tmp_path), run_id))
        else:
            run_id = begin(settings, tmp_path)
    engine = opening.engine(tmp_path)
    trials = trials_of(tmp_path, run_id)
    assert len(trials) == 18
    held = [each for each in stored_calls(engine, run_id) if each.outcome == f"held/{scope}"]
    assert held
    if not stops:
        subjects = {each.subject for each in held}
        assert {trials[each].outcome for each in subjects} <= {TrialOutcome.BARREN, TrialOutcome.REJECTED}
        assert any(trial.scorecard is not None for trial in trials.values() if trial.candidate.generation == 2)
        server.close()
        again = go_on(settings, tmp_path, replayed_order(engine, run_id))
        assert strays(trials, trials_of(tmp_path, again)) == ()


def test_two_models_share_the_work_and_a_replay_shares_it_alike(tmp_path, settings_for, llm_server):
    with llm_server.ScriptedServer(seed=1) as one, llm_server.ScriptedServer(seed=2) as two:
        settings = settings_for(one, two, generations=3, population=8)
        run_id = begin(settings, tmp_path, profile="a,b", workers=2)
        assert one.seen
        assert two.seen
    engine = opening.engine(tmp_path)
    assert [each.profile for each in spending(engine, run_id).profiles] == ["a", "b"]
    again = go_on(settings, tmp_path, replayed_order(engine, run_id))
    assert strays(trials_of(tmp_path, run_id), trials_of(tmp_path, again)) == ()


def test_a_profile_without_a_price_under_ceilings_in_money_alone_is_refused_before_anything_opens(
    tmp_path, settings_for, llm_server
):
    with llm_server.ScriptedServer() as server:
        settings = settings_for(server, budget={"run": {"money": 5}})
        with pytest.raises(UsageProblem, match=r"set tokens under \[budget.run\]"):
            begin(settings, tmp_path)
    assert server.seen == []
    assert TrialLedger(opening.engine(tmp_path), now=now).runs() == ()


@pytest.mark.parametrize(
    ("mode", "changes", "says"),
    [
        ("html", {}, "check base_url"),
        ("404", {}, "check model ('scripted'), base_url and dialect in [llm.a]"),
        ("redirect", {}, "change base_url in [llm.a]"),
        ("400", {}, "check dialect, max_tokens, max_tokens_field, temperature and documents_as in [llm.a]"),
        ("edit", {"base_url": "http://127.0.0.1:9/v1", "attempts": 1}, "check that http://127.0.0.1:9/v1 is up"),
        ("key-echo", {"key_env": KEY_NAME}, f"check the key in {KEY_NAME}"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(tmp_path, settings_for, llm_server, monkeypatch, mode, changes, says):
    monkeypatch.setenv(KEY_NAME, KEY)
    with llm_server.ScriptedServer([mode] * 9) as server, pytest.raises(NightOutage) as stopped:
        begin(settings_for(server, population=4, profile=changes), tmp_path)
    sentence = str(stopped.value)
    assert says in sentence
    assert "\n" not in sentence
    assert KEY not in sentence


def test_a_missing_key_and_an_unknown_profile_are_named(tmp_path, settings_for, llm_server, monkeypatch):
    monkeypatch.delenv(KEY_NAME, raising=False)
    with llm_server.ScriptedServer() as server:
        settings = settings_for(server, profile={"key_env": KEY_NAME})
        with pytest.raises(UsageProblem, match=f"{KEY_NAME}, which is not set: export it"):
            begin(settings, tmp_path)
        with pytest.raises(UsageProblem, match=r"LLM profile 'x' is not in trigate.toml .*\[llm.x\]"):
            begin(settings, tmp_path, profile="a,x")
        with pytest.raises(UsageProblem, match="named twice"):
            begin(settings, tmp_path, profile="a, a")


def test_a_kill_is_repeated_by_a_replay_and_not_tried_again(tmp_path, settings_for, llm_server, monkeypatch):
    """How long a machine took is no property of a strategy."""
    import flows.night
    from evolution.trial import Trial

    real = flows.night.run_trial

    def kills_the_third(candidate, *rest, **options):
        if candidate.id == "g001-c002":
            return Trial(candidate=candidate, outcome=TrialOutcome.KILLED, reason="ran past 60 s of wall time")
        return real(candidate, *rest, **options)

    with llm_server.ScriptedServer() as server:
        settings = settings_for(server)
        with monkeypatch.context() as patched:
            patched.setattr(flows.night, "run_trial", kills_the_third)
            run_id = begin(settings, tmp_path)
    again = trials_of(tmp_path, go_on(settings, tmp_path, replayed_order(opening.engine(tmp_path), run_id)))
    assert again["g001-c002"].outcome is TrialOutcome.KILLED
    assert strays(trials_of(tmp_path, run_id), again) == ()


def test_a_replay_that_strays_says_where(tmp_path, settings_for, llm_server):
    from dataclasses import replace

    with llm_server.ScriptedServer() as server:
        trials = trials_of(tmp_path, begin(settings_for(server), tmp_path))
    other = {**trials, "g001-c001": replace(trials["g001-c001"], reason="something else")}
    del other["g001-c004"]
    assert in_words("r-1", trials, trials) == "replay of r-1: all 12 candidates came out as before"
    assert (
        in_words("r-1", trials, other) == "replay of r-1: 2 of 11 candidates came out otherwise, the first is g001-c001"
    )


def test_no_child_process_knows_the_key(tmp_path, settings_for, llm_server, monkeypatch):
    monkeypatch.setenv(KEY_NAME, KEY)
    with llm_server.ScriptedServer(key=KEY) as server:
        settings = settings_for(server, profile={"key_env": KEY_NAME})
        with open_night(settings, tmp_path, Told(), new_order(settings, seed=3, profile="a")) as night:
            for identity in night.breed():
                night.try_candidate(identity)
            night.close_generation()
            night.try_candidate(next(night.breed()))
            children = dict(environments_below(os.getpid()))
    assert server.seen
    assert children, "the cage has a process of its own, or this looks at nothing"
    assert not [pid for pid, environ in children.items() if KEY.encode() in environ]


def environments_below(pid):
    """Every process that descends from ``pid``, with its environment."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    for child, parent in parents.items():
        if parent == pid:
            with contextlib.suppress(OSError):
                yield child, Path(f"/proc/{child}/environ").read_bytes()
            yield from environments_below(child)


@pytest.mark.slow
def test_the_command_line_replays_a_night_with_the_server_off(tmp_path, with_server, llm_server):
    with llm_server.ScriptedServer(["violating", "429-none"], key=KEY) as server:
        (tmp_path / "trigate.toml").write_text(
            f'data = "planted-edge"\n[search]\nllm_share = 0.8\n[budget.run]\nmoney = 5\ntokens = 900000\n'
            f'[llm.one]\nbase_url = "{server.base_url}"\nmodel = "scripted"\nkey_env = "{KEY_NAME}"\n'
            "[llm.one.price]\ninput_per_million = 2\noutput_per_million = 8\nas_of = 2026-11-01\n"
        )
        words = ("evolve", "--generations", 3, "--population", 8, "--seed", 3, "--llm", "one", "--json")
        first = with_server.run(*words, **{KEY_NAME: KEY})
        assert first.code == 0, first.err
    run_id = first.document["id"]

    def pool():
        return [
            (each["id"], each["sha256"], each["score"]) for each in with_server.run("pool", "list", "--json").document
        ]

    def trials(run):
        shown = with_server.run("runs", "show", run, "--json").document["trials"]
        return [{name: value for name, value in each.items() if name not in {"cpu_s", "wall_s"}} for each in shown]

    before = pool()
    assert before
    again = with_server.run("evolve", "--replay", run_id, "--json")
    assert again.code == 0, again.err
    assert f"replay of {run_id}: all 24 candidates came out as before" in again.err
    assert trials(again.document["id"]) == trials(run_id)
    assert pool() == before
    assert again.document["note"] == f"replay of {run_id}, with no network"
    assert again.document["verdict"].startswith(f"replay of {run_id}: 24 candidates")

    # What the night cost stands in its report, and a replay cost nothing.
    shown = with_server.run("runs", "show", run_id).out
    (line,) = [line for line in shown.partition("Models\n")[2].splitlines() if line]
    assert re.fullmatch(
        r"  profile one \(scripted\): \d+ calls, \d+ prompt and \d+ answer tokens.*, \d+\.\d{4} USD", line
    )
    assert "Models" not in with_server.run("runs", "show", again.document["id"]).out
    spent = with_server.run("runs", "show", run_id, "--json").document["spending"]
    assert spent["profiles"][0]["calls"] == spent["calls"] > 0
    assert spent["money"]["USD"] > 0
    for words in (
        ("--replay", run_id, "--llm", "one"),
        ("--replay", run_id, "--seed", 1),
        ("--replay", run_id, "--resume", run_id),
    ):
        assert with_server.run("evolve", *words).code == 2
    assert with_server.run("evolve", "--replay", "r-19990101-001").code == 2
