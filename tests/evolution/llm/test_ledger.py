"""What was asked and paid for is stored, whatever dies and when: nothing is paid twice, and a night can be run again."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from evolution.ledger import TrialLedger
from evolution.llm import LlmRequest, Message, Role, open_replay
from evolution.llm.book import Call
from evolution.llm.budget import Budget, Ceiling, Scope
from evolution.llm.exchange import Broken, Reply
from evolution.llm.ledger import CallLedger, ReplayLedger, places, spending, stored_calls
from evolution.llm.outcomes import (
    Empty,
    Fatal,
    FatalKind,
    Held,
    Malformed,
    Refused,
    Retryable,
    Text,
    ToolCall,
    Trouble,
    Truncated,
)
from evolution.llm.spending import spending_document, spending_lines
from evolution.run import RunFacts
from runtime.store import open_engine

KEY = "canary-key-7f3a91c2d4"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PRICE = {"input_per_million": 2, "output_per_million": 8, "as_of": "2026-11-01"}
QUESTION = "A parent:\n\n```python\nclass S(Strategy):\n    n = param(5, low=2, high=9)\n\n    def on_bar(self, bar):\n        self.close()\n```\n"
# Reported by the scripted server for the answer to QUESTION, whose text is short.
PROMPT_TOKENS = 1200


def request(subject="g001-c002", *, words=QUESTION, ordinal=1, generation=1):
    messages = (Message(Role.SYSTEM, "You write."), Message(Role.USER, words))
    return LlmRequest(subject=subject, prompt_version="v-1", messages=messages, generation=generation, ordinal=ordinal)


# Where the database's own ways count: exact values, one charge at a time, who was first.
on_both = pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture
def engine(tmp_path, request):
    url = request.getfixturevalue("postgres").database() if getattr(request, "param", "") == "postgresql" else None
    opened = open_engine(tmp_path, url)
    yield opened
    opened.dispose()


@pytest.fixture
def run_id(engine):
    return new_run(engine)


def new_run(engine):
    facts = RunFacts(seed=1, plan={}, dataset="d", dataset_sha256="0" * 64, config_hash="c", engine_version="1")
    return TrialLedger(engine, now=lambda: NOON).start_run(facts).id


@pytest.fixture
def ledger_for(engine, run_id):
    """A ledger of the run, or of another one: ``ledger_for(candidate=Ceiling(tokens=9))``."""

    def make(*, of=run_id, now=lambda: NOON, **ceilings):
        ceilings = {name: Ceiling(**value) for name, value in ceilings.items()}
        return CallLedger(engine, run_id=of, budget=Budget(**ceilings), now=now)

    return make


@pytest.fixture
def call_for(profile_for):
    """A call as a client would make it, without a client."""

    def make(body=b"x" * 300, *, subject="g001-c002", ordinal=1, generation=1, **profile):
        settings = {"max_tokens": 900, **profile}
        return Call(
            request=request(subject, ordinal=ordinal, generation=generation),
            profile=profile_for("http://127.0.0.1:9/v1", **settings),
            path="/chat/completions",
            body=body,
        )

    return make


def test_an_answer_that_is_stored_is_used_and_nothing_is_sent(connect, ledger_for):
    client, server = connect()
    first = client.complete(request(), book=ledger_for())
    again = client.complete(request(), book=ledger_for())
    assert isinstance(first, Text)
    assert again.text == first.text
    assert first.usage.calls == 1
    assert again.usage.calls == again.usage.prompt_tokens == 0
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("length", Truncated), ("null", Empty), ("refusal", Refused), ("tool-call", ToolCall)],
)
def test_an_answer_without_text_was_paid_for_and_is_not_asked_for_again(connect, ledger_for, mode, kind):
    client, server = connect(mode)
    assert type(client.complete(request(), book=ledger_for())) is kind
    assert type(client.complete(request(), book=ledger_for())) is kind
    assert len(server.seen) == 1


@pytest.mark.parametrize("mode", ["500", "401", "429-long", "404"])
def test_a_failure_is_no_answer_and_is_asked_again(connect, ledger_for, mode):
    client, _ = connect(mode, attempts=1)
    assert isinstance(client.complete(request(), book=ledger_for()), Retryable | Fatal)
    assert isinstance(client.complete(request(), book=ledger_for()), Text)


def test_another_candidate_round_or_run_asks_for_itself(connect, engine, ledger_for):
    client, server = connect()
    other = new_run(engine)
    client.complete(request(), book=ledger_for())
    client.complete(request("g001-c003"), book=ledger_for())
    client.complete(request(ordinal=2), book=ledger_for())
    client.complete(request(), book=ledger_for(of=other))
    client.complete(request(words=f"{QUESTION} Be bold."), book=ledger_for())
    assert len(server.seen) == 5


def test_a_process_that_dies_after_the_answer_arrived_does_not_pay_again(connect, ledger_for, monkeypatch):
    """Killed between the answer and its reading, at the worst moment."""
    client, server = connect()

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(client, "_read", die)
        with pytest.raises(Killed):
            client.complete(request(), book=ledger_for())
    assert isinstance(client.complete(request(), book=ledger_for()), Text)
    assert len(server.seen) == 1


@on_both
def test_a_process_that_dies_while_it_waits_stays_charged_with_the_upper_bound(ledger_for, call_for, engine, run_id):
    ledger_for().begin(call_for(b"x" * 300))
    (spent,) = spending(engine, run_id).profiles
    assert spent.charged_tokens == 101 + 900
    (record,) = stored_calls(engine, run_id)
    assert (record.outcome, record.status, record.response) == (None, None, "")


@on_both
def test_the_request_is_stored_under_its_hash_before_anything_is_sent(profile_for, held, engine, run_id, ledger_for):
    from evolution.llm import EndpointClient

    class Looking:
        def post(self, path, body, *, timeout_s):
            (record,) = stored_calls(engine, run_id)
            assert record.request.encode() == body
            self.seen = record
            return Broken(why=FatalKind.BAD_REQUEST, reason="enough")

        def close(self):
            pass

    transport = Looking()
    profile = profile_for("http://127.0.0.1:9/v1")
    with EndpointClient(profile, transport, timing=held.timing()) as client:
        client.complete(request(), book=ledger_for())
    call = Call(request=request(), profile=profile, path="/chat/completions", body=transport.seen.request.encode())
    assert transport.seen.request_sha256 == call.sha256
    assert transport.seen.outcome is None


def test_the_answer_is_stored_before_it_is_read(connect, ledger_for, engine, run_id, monkeypatch):
    client, _ = connect()
    real, seen = client._read, []

    def read(answer, call):
        seen.extend(stored_calls(engine, run_id))
        return real(answer, call)

    monkeypatch.setattr(client, "_read", read)
    client.complete(request(), book=ledger_for())
    assert seen[0].status == 200
    assert "chatcmpl-scripted" in seen[0].response
    assert seen[0].outcome is None


@on_both
def test_attempts_are_counted_over_all_processes_and_keep_their_ends(connect, ledger_for, engine, run_id):
    client, _ = connect("500", "reset", "429-none", attempts=2)
    client.complete(request(), book=ledger_for())
    client.complete(request(), book=ledger_for())
    records = stored_calls(engine, run_id)
    assert [(each.attempt, each.outcome) for each in records] == [
        (1, "retryable/server"),
        (2, "retryable/connection"),
        (3, "retryable/rate_limited"),
        (4, "text"),
    ]
    assert len({each.request_sha256 for each in records}) == 1


@on_both
def test_a_record_is_exact(connect, ledger_for, engine, run_id):
    client, _ = connect(price=PRICE)
    outcome = client.complete(request(), book=ledger_for())
    (record,) = stored_calls(engine, run_id, subject="g001-c002")
    assert stored_calls(engine, run_id, subject="g001-c003") == ()
    assert QUESTION.splitlines()[0] in record.request
    assert outcome.text.splitlines()[0] in record.response
    assert (record.subject, record.ordinal, record.prompt_version) == ("g001-c002", 1, "v-1")
    assert (record.profile, record.model) == ("test", "scripted")
    assert record.prompt_tokens == PROMPT_TOKENS
    assert record.completion_tokens == outcome.usage.completion_tokens
    assert record.elapsed_s >= 0


# --- Money and tokens ------------------------------------------------------------------------------------------------


@on_both
def test_an_attempt_is_charged_its_upper_bound_until_it_is_settled(ledger_for, call_for, engine, run_id):
    ledger, call = ledger_for(), call_for(price=PRICE)
    number = ledger.begin(call)
    (under_way,) = spending(engine, run_id).profiles
    assert under_way.charged_tokens == 101 + 900
    assert under_way.money == pytest.approx((101 * 2 + 900 * 8) / 1e6)
    ledger.arrived(number, Reply(status=200, headers={}, body=b"{}"), elapsed_s=1.0)
    ledger.settle(number, call, Text(text="x", usage=usage(50, 20)))
    (settled,) = spending(engine, run_id).profiles
    assert settled.charged_tokens == 70
    assert settled.money == pytest.approx((50 * 2 + 20 * 8) / 1e6)


def usage(prompt, completion):
    from evolution.llm import Usage

    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion)


@pytest.mark.parametrize("mode", ["no-usage", "absurd-usage", "cut-json", "reset"])
def test_what_may_be_billed_without_a_credible_count_is_charged_at_the_upper_bound(
    connect, ledger_for, engine, run_id, mode
):
    client, _ = connect(model=f"scripted:{mode}", attempts=1, max_tokens=1000)
    client.complete(request(), book=ledger_for())
    (record,) = stored_calls(engine, run_id)
    assert record.estimated
    assert record.completion_tokens == 1000
    assert record.prompt_tokens > len(QUESTION) // 3


@pytest.mark.parametrize("mode", ["500", "429-none", "401"])
def test_what_certainly_cost_nothing_is_charged_nothing(connect, ledger_for, engine, run_id, mode):
    client, _ = connect(model=f"scripted:{mode}", attempts=1)
    client.complete(request(), book=ledger_for())
    assert spending(engine, run_id).profiles[0].charged_tokens == 0


def test_a_server_that_is_not_there_does_not_eat_up_the_budget(connect, serve, ledger_for, engine, run_id):
    gone = serve()
    gone.close()
    client, _ = connect(server=gone, attempts=4)
    client.complete(request(), book=ledger_for())
    (spent,) = spending(engine, run_id).profiles
    assert (spent.usage.calls, spent.charged_tokens) == (4, 0)


@pytest.mark.parametrize(
    ("scope", "other"),
    [
        (Scope.CALL, None),
        (Scope.CANDIDATE, {"subject": "g001-c009"}),
        (Scope.GENERATION, {"subject": "g002-c001", "generation": 2}),
    ],
)
def test_a_call_beyond_a_ceiling_is_held_and_one_outside_of_its_scope_is_not(ledger_for, call_for, scope, other):
    tokens = 1_000 if scope is Scope.CALL else 2_500
    ledger = ledger_for(**{scope.value: {"tokens": tokens}})
    answers = [ledger.begin(call_for(ordinal=ordinal)) for ordinal in (1, 2, 3)]
    first = [scope] * 3 if scope is Scope.CALL else [None, None, scope]
    assert [answer.scope if isinstance(answer, Held) else None for answer in answers] == first
    if other is not None:
        assert isinstance(ledger.begin(call_for(**other)), int)


def test_a_day_counts_all_runs_and_begins_at_midnight_utc(engine, ledger_for, call_for):
    clock = [NOON]
    first = ledger_for(day={"tokens": 1_500}, now=lambda: clock[0])
    second = ledger_for(of=new_run(engine), day={"tokens": 1_500}, now=lambda: clock[0])
    assert isinstance(first.begin(call_for()), int)
    held = second.begin(call_for())
    assert held.scope is Scope.DAY
    clock[0] = NOON + timedelta(hours=12)
    assert isinstance(second.begin(call_for()), int)


def test_a_run_s_ceiling_in_money_counts_what_is_under_way(ledger_for, call_for):
    cost = (101 * 2 + 900 * 8) / 1e6
    ledger = ledger_for(run={"money": 2.5 * cost})
    answers = [ledger.begin(call_for(ordinal=ordinal, price=PRICE)) for ordinal in (1, 2, 3)]
    assert [isinstance(answer, Held) for answer in answers] == [False, False, True]
    assert "[budget.run] money" in answers[2].reason


def test_threads_that_begin_together_never_pass_the_ceiling_together(ledger_for, call_for, engine, run_id):
    """Eight threads, room for three: the check and the charge are one transaction."""
    ledger = ledger_for(run={"tokens": 3_100})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: ledger.begin(call_for(subject=f"g001-c{n:03d}")), range(8)))
    assert sum(isinstance(answer, int) for answer in answers) == 3
    assert spending(engine, run_id).profiles[0].charged_tokens == 3_003


def test_a_held_call_is_stored_costs_nothing_and_is_asked_again_when_the_ceiling_is_raised(
    connect, ledger_for, engine, run_id
):
    client, server = connect()
    held = client.complete(request(), book=ledger_for(run={"tokens": 5}))
    assert isinstance(held, Held)
    assert held.code == "held/run"
    assert server.seen == []
    assert spending(engine, run_id).usage.calls == 0
    assert isinstance(client.complete(request(), book=ledger_for()), Text)
    assert [each.outcome for each in stored_calls(engine, run_id)] == ["held/run", "text"]


def test_retries_are_held_too(connect, ledger_for, engine, run_id):
    client, server = connect("cut-json", "edit", max_tokens=1000)
    outcome = client.complete(request(), book=ledger_for(run={"tokens": 1_500}))
    assert isinstance(outcome, Held)
    assert outcome.usage.calls == 1
    assert len(server.seen) == 1


def test_who_was_asked_for_a_place_and_at_what_cost(connect, ledger_for, engine, run_id):
    client, _ = connect("violating", price=PRICE)
    client.complete(request(), book=ledger_for())
    client.complete(request(ordinal=2), book=ledger_for())
    (place,) = places(engine, run_id).values()
    assert place.profile == "test"
    assert place.cost.tokens > 2 * PROMPT_TOKENS
    assert place.cost.money == pytest.approx(spending(engine, run_id).money["USD"])


def test_people_read_calls_tokens_and_money(connect, ledger_for, engine, run_id):
    client, _ = connect("500", "no-usage", price=PRICE, max_tokens=1000)
    client.complete(request(), book=ledger_for())
    free, _ = connect(name="local")
    free.complete(request("g001-c003"), book=ledger_for())
    spent = spending(engine, run_id)
    local, paid = spending_lines(spent)
    assert local.startswith("profile local (scripted): 1 call, 1200 prompt and ")
    assert local.endswith("price unknown")
    assert paid.startswith("profile test (scripted): 2 calls, ")
    assert "(1 at our own upper bound)" in paid
    assert paid.endswith(" USD")
    document = spending_document(spent)
    assert document["calls"] == 3
    assert document["estimated_calls"] == 1
    assert list(document["money"]) == ["USD"]
    assert spending_lines(spending(engine, new_run(engine))) == []


# --- Replay ----------------------------------------------------------------------------------------------------------

MODES = ["edit", "length", "refusal", "500", "401", "cut-json", "html", "huge", "429-quota", "prose"]


def test_a_replay_ends_every_question_as_it_ended_and_sends_nothing(connect, ledger_for, engine, run_id, profile_for):
    client, server = connect(*MODES, attempts=1)
    asked = [request(f"g001-c{number:03d}") for number in range(len(MODES))]
    outcomes = [client.complete(each, book=ledger_for()) for each in asked]
    assert len({outcome.code for outcome in outcomes}) >= 7
    server.close()
    book = ReplayLedger(engine, run_id=run_id)
    with open_replay(profile_for(server, attempts=1, key_env="NOT_SET")) as replay:
        again = [replay.complete(each, book=book) for each in asked]
    assert [outcome.code for outcome in again] == [outcome.code for outcome in outcomes]
    assert [getattr(outcome, "text", None) for outcome in again] == [
        getattr(outcome, "text", None) for outcome in outcomes
    ]
    assert all(outcome.usage.calls == 0 for outcome in again)
    assert len(stored_calls(engine, run_id)) == len(MODES)


def test_a_replay_repeats_silence_and_ceilings(connect, ledger_for, engine, run_id, profile_for):
    client, _ = connect("hang", attempts=1, timeouts={"read_s": 0.2})
    assert isinstance(client.complete(request(), book=ledger_for()), Retryable)
    assert isinstance(client.complete(request("g001-c003"), book=ledger_for(call={"tokens": 5})), Held)
    book = ReplayLedger(engine, run_id=run_id)
    with open_replay(client.profile) as replay:
        silent = replay.complete(request(), book=book)
        held = replay.complete(request("g001-c003"), book=book)
    assert (silent.trouble, silent.reason) == (Trouble.TIMEOUT, "silent for 0.2 s")
    assert (held.scope, held.reason.partition(":")[0]) == (Scope.CALL, "[budget.call] tokens = 5")


def test_a_replay_takes_the_last_end_of_a_question(connect, ledger_for, engine, run_id):
    client, _ = connect("500", attempts=1)
    client.complete(request(), book=ledger_for())
    answered = client.complete(request(), book=ledger_for())
    with open_replay(client.profile) as replay:
        assert replay.complete(request(), book=ReplayLedger(engine, run_id=run_id)).text == answered.text


@pytest.mark.parametrize("change", [{"words": "Something else."}, {"ordinal": 2}, {"subject": "g001-c008"}])
def test_a_question_that_was_never_asked_has_no_answer_in_a_replay(connect, ledger_for, engine, run_id, change):
    client, _ = connect()
    client.complete(request(), book=ledger_for())
    with open_replay(client.profile) as replay:
        outcome = replay.complete(request(**change), book=ReplayLedger(engine, run_id=run_id))
    assert isinstance(outcome, Fatal)
    assert outcome.kind is FatalKind.NOT_STORED
    assert run_id in outcome.reason


def test_the_key_is_nowhere_in_the_database(connect, serve, ledger_for, engine, run_id, tmp_path):
    """Also not inside of what is compressed."""
    server = serve("key-echo", "500", "edit", key=KEY)
    client, _ = connect(server=server, environ={"TEST_KEY": KEY}, key_env="TEST_KEY")
    for number in range(3):
        client.complete(request(f"g001-c{number:03d}"), book=ledger_for())
    assert {seen.key for seen in server.seen} == {KEY}
    records = stored_calls(engine, run_id)
    assert len(records) == 4
    assert KEY not in repr(records)
    with engine.connect() as connection:
        rows = list(
            itertools.chain(
                *(connection.execute(text(f"SELECT * FROM {name}")) for name in ("llm_call", "llm_request"))
            )
        )
    assert KEY not in repr(rows)
    engine.dispose()
    assert not [path for path in tmp_path.iterdir() if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("mode", ["edit", "500", "cut-json", "prose"])
def test_an_answer_that_arrived_before_the_process_died_is_settled_when_it_is_read(
    connect, ledger_for, engine, run_id, monkeypatch, mode
):
    client, _ = connect(mode)
    with monkeypatch.context() as patched:
        patched.setattr(CallLedger, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            client.complete(request(), book=ledger_for())
    assert stored_calls(engine, run_id)[0].outcome is None
    client.complete(request(), book=ledger_for())
    records = stored_calls(engine, run_id)
    assert None not in [record.outcome for record in records]
    assert len(records) == (1 if mode in {"edit", "prose"} else 2)
    charged = spending(engine, run_id).profiles[0].charged_tokens
    assert charged == sum(record.prompt_tokens + record.completion_tokens for record in records)


def test_a_place_belongs_to_who_was_asked_last(connect, ledger_for, engine, run_id):
    for name in ("z", "a", "m"):
        client, _ = connect(name=name, model=f"model-{name}")
        client.complete(request(), book=ledger_for())
    assert places(engine, run_id)["g001-c002"].profile == "m"


def test_a_model_that_is_paid_for_and_cannot_be_read_is_not_asked_again(connect, ledger_for):
    client, server = connect("odd-finish")
    for _ in range(2):
        assert isinstance(client.complete(request(), book=ledger_for()), Malformed)
    assert len(server.seen) == 1
