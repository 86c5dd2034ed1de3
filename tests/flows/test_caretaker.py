"""The caretaker of a station: dead flow runs are marked, killed nights go on once and no oftener, and what somebody stopped stays stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from evolution.ledger import TrialLedger
from evolution.run import RunFacts, RunStatus
from flows import ties
from flows.api import Answer
from flows.caretaker import Caretaker
from flows.runlock import held
from flows.survival import Rules
from flows.tidings import store_tag
from flows.ties import AGAIN, Tie
from runtime.store import open_engine

NOW = datetime.now(UTC)
UNTIL = NOW + timedelta(hours=5)
HASTY = Rules(grace_s=0.0, starting_grace_s=0.0, most_resumes=2, pauses_s=(0.0,))
FACTS = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="d", config_hash="c", engine_version="1")


class FakeApi:
    """As much of Prefect's API as the caretaker uses, in memory, with its promise about idempotency keys."""

    def __init__(self):
        self.flow_runs = {}
        self.parents = {}
        self.workers = []
        self.is_away = False
        self._lock = threading.Lock()
        self._numbers = count(1)

    def add(self, identity, state="RUNNING", **more):
        self.flow_runs[identity] = {
            "id": identity,
            "deployment_id": "nightly",
            "parent_task_run_id": None,
            "parameters": {"night": {"data": "d", "generations": 7, "deadline_minutes": 300}},
            "tags": ["trigate"],
            "start_time": NOW.isoformat(),
            "expected_start_time": NOW.isoformat(),
        } | more
        self.turn(identity, state, "")

    def turn(self, identity, state, message="Process exited with status code: -9."):
        at = datetime.now(UTC).isoformat()
        self.flow_runs[identity]["state"] = {"type": state, "message": message, "timestamp": at}
        self.flow_runs[identity]["state_type"] = state

    def state(self, identity):
        return self.flow_runs[identity]["state_type"]

    @property
    def successors(self):
        return [each for each in self.flow_runs.values() if AGAIN in each["tags"]]

    def call(self, path, body=None, *, method=None):
        if self.is_away:
            return None
        with self._lock:
            return self._answer(path.split("/"), body)

    def _answer(self, path, body):
        match path:
            case ["flow_runs", "filter"]:
                wanted = body["flow_runs"]["state"]["type"]["any_"]
                return Answer(
                    status=200, body=[dict(each) for each in self.flow_runs.values() if each["state_type"] in wanted]
                )
            case ["flow_runs", identity, "set_state"]:
                if self.state(identity) in {"PENDING", "RUNNING", "CANCELLING"}:
                    self.turn(identity, body["state"]["type"], body["state"]["message"])
                return Answer(status=200, body={"status": "ACCEPT"})
            case ["flow_runs", identity]:
                found = self.flow_runs.get(identity)
                return Answer(status=404 if found is None else 200, body=found)
            case ["task_runs", identity]:
                return Answer(status=200, body={"flow_run_id": self.parents[identity]})
            case ["work_pools", "trigate", "workers", "filter"]:
                return Answer(status=200, body=self.workers)
            case ["deployments", "nightly", "create_flow_run"]:
                return self._create(body)
        raise AssertionError(path)

    def _create(self, body):
        for each in self.flow_runs.values():
            if each.get("idempotency_key") == body["idempotency_key"]:
                return Answer(status=200, body=each)
        identity = f"successor-{next(self._numbers)}"
        self.add(identity, "SCHEDULED", **body)
        return Answer(status=201, body=self.flow_runs[identity])


@pytest.fixture
def api():
    return FakeApi()


@pytest.fixture
def engine(tmp_path):
    opened = open_engine(tmp_path)
    yield opened
    opened.dispose()


@pytest.fixture
def ledger(engine):
    return TrialLedger(engine, now=lambda: datetime.now(UTC))


@pytest.fixture
def caretaker(tmp_path, api):
    return Caretaker(tmp_path, api, pool="trigate", worker="here", rules=HASTY)


def begun(home, ledger, flow="first", until=UNTIL):
    """A run that a flow has begun, and that nobody works on any more."""
    run = ledger.start_run(FACTS, story=ties.opening_parts({}, Tie(flow_run=flow, until=until))).id
    with held(home, run):
        pass
    return run


def taken_up(ledger, run, flow):
    """What a flow run writes down when it has the lock."""
    ledger.tell(run, **ties.opening_parts(ledger.run(run).story, Tie(flow_run=flow, until=UNTIL, is_automatic=True)))


def test_a_killed_night_goes_on_once_with_its_run_and_its_deadline(tmp_path, api, ledger, caretaker):
    run = begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    for _ in range(3):
        caretaker.look()
    (successor,) = api.successors
    night = successor["parameters"]["night"]
    assert (night["resume"], datetime.fromisoformat(night["until"]), night["deadline_minutes"]) == (run, UNTIL, None)
    assert (night["generations"], caretaker.resumed) == (7, 1)
    (resume,) = ties.read(ledger.run(run).story).resumes
    assert resume.flow_run == successor["id"]
    taken_up(ledger, run, successor["id"])
    with held(tmp_path, run):
        caretaker.look()
    # Neither the run nor the flow run that began it is anybody's business any more.
    ledger.finish_run(run, RunStatus.FINISHED)
    caretaker.look()
    assert len(api.successors) == 1


def test_of_two_that_look_at_once_only_one_flow_run_comes(tmp_path, api, ledger):
    run = begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    both = [Caretaker(tmp_path, api, pool="trigate", worker="here", rules=HASTY) for _ in range(2)]
    barrier = threading.Barrier(2)

    def look(caretaker):
        barrier.wait()
        caretaker.look()

    threads = [threading.Thread(target=look, args=(each,)) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (successor,) = api.successors
    assert [each.flow_run for each in ties.read(ledger.run(run).story).resumes] == [successor["id"]]
    assert sum(each.resumed for each in both) == 1


def test_who_is_killed_between_asking_and_writing_it_down_asks_for_the_same_one_again(
    tmp_path, api, ledger, caretaker, monkeypatch
):
    run = begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    with monkeypatch.context() as context:
        context.setattr(TrialLedger, "tell", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            caretaker.look()
    Caretaker(tmp_path, api, pool="trigate", worker="here", rules=HASTY).look()
    assert len(api.successors) == 1
    assert len(ties.read(ledger.run(run).story).resumes) == 1


def test_after_so_many_deaths_a_person_is_told_why_and_may_begin_anew(tmp_path, api, ledger, caretaker):
    run = begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    for _ in range(6):
        caretaker.look()
        for each in api.successors:
            api.turn(each["id"], "CRASHED", "out of memory")
    assert len(api.successors) == 2
    assert (
        ties.read(ledger.run(run).story).given_up
        == "it had gone on by itself 2 times and died once more: out of memory"
    )
    ledger.tell(run, **ties.opening_parts(ledger.run(run).story, Tie(flow_run="by hand", until=None)))
    api.add("by hand", "CRASHED")
    caretaker.look()
    assert len(api.successors) == 3


def test_past_its_deadline_a_night_stays_where_it_is(tmp_path, api, ledger, caretaker):
    run = begun(tmp_path, ledger, until=NOW - timedelta(seconds=1))
    api.add("first", "CRASHED")
    caretaker.look()
    assert api.successors == []
    assert "deadline" in ties.read(ledger.run(run).story).given_up


@pytest.mark.parametrize(
    "stopped", ["interrupted", "failed", "cancelled", "cancelling", "at a terminal", "led", "led elsewhere"]
)
def test_what_somebody_stopped_or_works_on_is_left_alone(tmp_path, api, engine, ledger, caretaker, stopped):
    from evolution.leases import Leases

    run = begun(tmp_path, ledger)
    api.add("first", {"cancelled": "CANCELLED", "cancelling": "CANCELLING"}.get(stopped, "CRASHED"))
    if stopped in {"interrupted", "failed"}:
        ledger.finish_run(run, RunStatus(stopped))
    if stopped == "at a terminal":
        ledger.tell(run, **ties.opening_parts(ledger.run(run).story, None))
    if stopped == "led elsewhere":
        Leases(engine).take(run, "elsewhere")
    if stopped == "led":
        with held(tmp_path, run):
            caretaker.look()
    else:
        caretaker.look()
    assert api.successors == []


@pytest.fixture
def process():
    """A living process that works on the flow run ``first``, as its environment says."""
    code = "print('up', flush=True); input()"
    environment = os.environ | {"PREFECT__FLOW_RUN_ID": "first"}
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    assert started.stdout.readline() == "up\n"
    yield started
    started.kill()
    started.communicate()


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "CANCELLING"])
def test_a_flow_run_with_a_process_is_left_alone_and_one_without_is_marked(api, caretaker, process, state):
    """The process holds no lock yet: it may be opening its cage."""
    api.add("first", state)
    caretaker.look()
    caretaker.look()
    assert api.state("first") == state
    process.kill()
    process.wait()
    caretaker.look()
    assert api.state("first") == ("CANCELLED" if state == "CANCELLING" else "CRASHED")
    assert "its process" in (message := api.flow_runs["first"]["state"]["message"]) or "no process" in message


def test_a_zombie_is_marked_and_its_night_goes_on(tmp_path, api, ledger, caretaker):
    run = begun(tmp_path, ledger)
    api.add("first", "RUNNING")
    caretaker.look()
    assert api.state("first") == "CRASHED"
    assert [each["parameters"]["night"]["resume"] for each in api.successors] == [run]


def test_in_the_grace_nothing_is_marked(tmp_path, api):
    api.add("first", "RUNNING")
    patient = Caretaker(tmp_path, api, pool="trigate", worker="here", rules=Rules(grace_s=3_600.0))
    patient.look()
    patient.look()
    assert api.state("first") == "RUNNING"


def test_generations_and_runs_of_terminals_are_judged_by_whom_they_belong_to(tmp_path, api, ledger, caretaker):
    run = begun(tmp_path, ledger)
    api.parents = {"task-1": "gone", "task-2": "terminal"}
    api.add("terminal", deployment_id=None, parameters={"run": run})
    api.add("of the dead", deployment_id=None, parent_task_run_id="task-1")
    api.add("of the living", deployment_id=None, parent_task_run_id="task-2")
    api.add("somebody's", deployment_id=None, parameters={})
    with held(tmp_path, run):
        caretaker.look()
    assert [api.state(each) for each in ("terminal", "of the dead", "of the living")] == [
        "RUNNING",
        "CRASHED",
        "RUNNING",
    ]
    caretaker.look()
    caretaker.look()
    assert [api.state(each) for each in ("terminal", "of the living", "somebody's")] == [
        "CRASHED",
        "CRASHED",
        "RUNNING",
    ]


def test_what_another_machine_may_have_is_judged_by_its_lease_only(tmp_path, api, engine, ledger, caretaker):
    from evolution.leases import Leases

    api.workers = [{"name": "there", "last_heartbeat_time": datetime.now(UTC).isoformat()}]
    api.add("not begun")
    run = ledger.start_run(FACTS, story=ties.opening_parts({}, Tie(flow_run="first", until=None))).id
    lease = Leases(engine).take(run, "there")
    api.add("first")
    caretaker.look()
    assert [api.state(each) for each in ("first", "not begun")] == ["RUNNING", "RUNNING"]
    Leases(engine).release(lease)
    caretaker.look()
    assert [api.state(each) for each in ("first", "not begun")] == ["CRASHED", "RUNNING"]
    api.workers = [{"name": "there", "last_heartbeat_time": (NOW - timedelta(days=1)).isoformat()}]
    caretaker.look()
    assert api.state("not begun") == "CRASHED"


def test_a_night_that_died_before_it_had_a_run_begins_once_more(api, caretaker):
    api.add("first", "RUNNING")
    for _ in range(3):
        caretaker.look()
    (successor,) = api.successors
    assert "resume" not in successor["parameters"]["night"]
    assert datetime.fromisoformat(successor["parameters"]["night"]["until"]) == NOW + timedelta(minutes=300)
    api.turn(successor["id"], "CRASHED")
    caretaker.look()
    assert len(api.successors) == 1


def test_who_cannot_look_or_is_told_to_stop_does_nothing(tmp_path, api, ledger, caretaker):
    begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    api.is_away = True
    caretaker.look()
    api.is_away = False
    caretaker.stop()
    caretaker.look()
    assert api.successors == []


def test_what_was_ended_in_order_waits_for_a_person(tmp_path, api, ledger, caretaker):
    run, other = begun(tmp_path, ledger), begun(tmp_path, ledger, flow="second")
    at_terminal = ledger.start_run(FACTS).id
    with held(tmp_path, other):
        caretaker.write_off()
    statuses = [ledger.run(each).status for each in (run, other, at_terminal)]
    assert statuses == [RunStatus.INTERRUPTED, RunStatus.RUNNING, RunStatus.RUNNING]


def test_another_stores_night_on_the_same_server_is_left_alone(tmp_path, api, ledger, caretaker):
    """Each of two stations would begin it again, under keys of their own, and mark it dead while the other one's process works."""
    theirs, mine = store_tag(tmp_path / "other"), store_tag(tmp_path)
    run = begun(tmp_path, ledger, flow=None)
    api.add("began", "CRASHED", tags=["trigate", theirs])
    api.add("works", "RUNNING", tags=["trigate", theirs])
    api.add("at a terminal", "RUNNING", deployment_id=None, parameters={"run": run}, tags=[theirs])
    api.add("unbegun", "CRASHED", tags=["trigate", mine])
    caretaker.look()
    caretaker.look()
    assert [api.state(each) for each in ("works", "at a terminal")] == ["RUNNING", "RUNNING"]
    (successor,) = api.successors
    assert successor["idempotency_key"].endswith("/unbegun")


@pytest.mark.parametrize("run", ["../../elsewhere", "r-1\0", "/tmp", "r-" + "9" * 5_000, ["r-1"], {"r": 1}])
def test_a_flow_runs_parameters_name_no_path(tmp_path, api, ledger, caretaker, run):
    """Whoever may start flow runs writes any text there; one that is no file name stopped the caretaker for everybody."""
    api.add("forged", "RUNNING", deployment_id=None, parameters={"run": run})
    begun(tmp_path, ledger)
    api.add("first", "CRASHED")
    outside = tmp_path.parent / "elsewhere"
    outside.mkdir(exist_ok=True)
    (outside / "lock").touch()
    caretaker.look()
    assert (api.state("forged"), len(api.successors)) == ("RUNNING", 1)


@pytest.mark.parametrize(
    "night",
    ["text", ["list"], 7, {"until": "tomorrow"}, {"until": "2026-12-01T06:00:00"}, {"deadline_minutes": "x"}, {"deadline_minutes": 1e308},
     {"data": "../../etc/passwd"}, {"endpoint": "http://elsewhere"}],
)  # fmt: skip
def test_forged_parameters_of_one_flow_run_cost_the_others_nothing(tmp_path, api, ledger, caretaker, night):
    run = begun(tmp_path, ledger)
    api.add("first", "CRASHED", parameters={"night": night})
    api.add("forged", "CRASHED", parameters={"night": night})
    api.add("unbegun", "CRASHED")
    caretaker.look()
    nights = [each["parameters"]["night"] for each in api.successors]
    assert [each.get("resume") for each in nights] == [run, None]  # a run's own sizes are in the store
    assert not any("endpoint" in each or "/" in each.get("data", "") for each in nights)


@pytest.mark.parametrize(
    "story", [{"flow": 7}, {"flow": {"id": "first", "until": "x"}}, {"flow": {"id": "first"}, "resumes": [1]}]
)
def test_a_story_that_nobody_here_wrote_costs_the_other_runs_nothing(tmp_path, api, ledger, caretaker, story):
    good = begun(tmp_path, ledger, flow="second")
    bad = begun(tmp_path, ledger)
    ledger.tell(bad, **story)
    api.add("first", "CRASHED")
    api.add("second", "CRASHED")
    caretaker.look()
    assert good in [each["parameters"]["night"].get("resume") for each in api.successors]
    assert bad in caretaker._refusal


def test_a_generation_whose_flow_run_is_beyond_the_first_page_lives_on(tmp_path, api, ledger, caretaker):
    api.parents = {"task": "beyond"}
    api.add("child", deployment_id=None, parent_task_run_id="task")
    for number in range(199):
        api.add(f"other {number}", deployment_id=None, parameters={})
    caretaker.look()
    caretaker.look()
    assert api.state("child") == "RUNNING"
