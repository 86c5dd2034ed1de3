"""Every way in which an endpoint can fail is a value, costs what it must and not more, and never shows the key."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evolution.llm import EndpointClient, KeyMissingError, LlmRequest, Message, Role, open_client
from evolution.llm.advice import way_out
from evolution.llm.exchange import Broken
from evolution.llm.outcomes import (
    Empty,
    Fatal,
    FatalKind,
    Malformed,
    Refused,
    Retryable,
    Text,
    ToolCall,
    Trouble,
    Truncated,
)

KEY = "canary-key-7f3a91c2d4"
PARENT = """class Cross(Strategy):
    window = param(20, low=5, high=60)

    def on_start(self):
        self.mean = self.indicator("SMA", timeperiod=self.window)

    def on_bar(self, bar):
        if self.flat and bar.close > self.mean[-1]:
            self.target(1.0, stop_loss=0.08)
        elif self.long and bar.close < self.mean[-1]:
            self.close()
"""
REQUEST = LlmRequest(
    subject="g001-c002",
    prompt_version="system-1.aa mutate-1.bb",
    messages=(Message(Role.SYSTEM, "You write."), Message(Role.USER, f"A parent:\n\n```python\n{PARENT}```\n")),
)


@pytest.fixture
def ask(new_book):
    """Ask, and give the outcome and what was kept of each attempt."""

    def once(client):
        records = new_book()
        return client.complete(REQUEST, book=records), records

    return once


RETRIED = ["429-seconds", "429-date", "429-ms", "429-none", "429-garbage", "500", "502", "503", "529", "reset", "cut-json",
           "error-200", "deep", "not-json"]  # fmt: skip
ENDS = {
    "429-quota": FatalKind.QUOTA,
    "429-spend": FatalKind.QUOTA,
    "error-200-quota": FatalKind.QUOTA,
    "402": FatalKind.QUOTA,
    "400": FatalKind.BAD_REQUEST,
    "compressed": FatalKind.BAD_REQUEST,
    "400-overflow": FatalKind.CONTEXT_OVERFLOW,
    "401": FatalKind.AUTH,
    "404": FatalKind.NOT_FOUND,
    "redirect": FatalKind.REDIRECT,
    "html": FatalKind.HTML,
    "403-page": FatalKind.HTML,
    "huge": FatalKind.TOO_LARGE,
}
NOTHING_TO_READ = {
    "length": Truncated,
    "null": Empty,
    "empty": Empty,
    "refusal": Refused,
    "filter": Refused,
    "tool-call": ToolCall,
    "odd-finish": Malformed,
}


@pytest.mark.parametrize("mode", RETRIED)
def test_a_passing_fault_is_tried_again_and_the_answer_comes(connect, mode, ask):
    client, server = connect(mode)
    outcome, records = ask(client)
    assert isinstance(outcome, Text)
    assert outcome.usage.calls == 2
    assert [record.attempt for record in records] == [1, 2]
    assert records[0].outcome.startswith("retryable/")
    assert [seen.mode for seen in server.seen] == [mode, "edit"]


@pytest.mark.parametrize("mode", RETRIED)
def test_a_fault_that_does_not_pass_is_an_outcome_after_four_attempts(connect, mode, ask):
    client, server = connect(model=f"scripted:{mode}")
    outcome, records = ask(client)
    assert isinstance(outcome, Retryable)
    assert len(records) == len(server.seen) == 4
    assert outcome.usage.calls == 4
    assert outcome.reason


@pytest.mark.parametrize(("mode", "kind"), ENDS.items())
def test_what_waiting_cannot_mend_is_asked_once(connect, held, mode, kind, ask):
    client, server = connect(model=f"scripted:{mode}")
    outcome, records = ask(client)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is kind
    assert len(server.seen) == len(records) == 1
    assert held.slept == []
    assert records[0].outcome == f"fatal/{kind.value}"


@pytest.mark.parametrize(("mode", "kind"), NOTHING_TO_READ.items())
def test_an_answer_without_text_is_paid_for_and_not_asked_again(connect, mode, kind, ask):
    client, server = connect(model=f"scripted:{mode}")
    outcome, _ = ask(client)
    assert type(outcome) is kind
    assert len(server.seen) == 1
    assert outcome.usage.prompt_tokens == 1200


@pytest.mark.parametrize("mode", ["429-seconds", "429-date", "429-ms"])
def test_the_wait_that_a_server_asks_for_is_kept(connect, held, llm_server, mode, ask):
    client, _ = connect(mode)
    ask(client)
    assert len(held.slept) == 1
    assert held.slept[0] >= llm_server.RETRY_AFTER_S


def test_without_a_wish_of_the_server_the_wait_is_short_and_random(connect, held, ask):
    client, _ = connect(model="scripted:429-none")
    ask(client)
    assert len(held.slept) == 3
    assert all(0 <= slept <= ceiling for slept, ceiling in zip(held.slept, (0.5, 1.0, 2.0), strict=True))
    assert len(set(held.slept)) == 3


def test_a_wait_beyond_the_deadline_ends_the_call_at_once(connect, held, ask):
    client, server = connect(model="scripted:429-long")
    outcome, _ = ask(client)
    assert isinstance(outcome, Retryable)
    assert outcome.after_s == 86_400
    assert held.slept == []
    assert len(server.seen) == 1


@pytest.mark.parametrize("mode", ["hang", "drip"])
def test_silence_and_a_slow_drip_end_at_the_deadline_and_are_tried_only_twice(connect, mode, ask):
    client, server = connect(model=f"scripted:{mode}", timeouts={"read_s": 60, "call_s": 0.3})
    outcome, records = ask(client)
    assert isinstance(outcome, Retryable)
    assert outcome.trouble is Trouble.TIMEOUT
    assert len(server.seen) == 2
    assert records[0].status is None
    assert records[0].response == ""


def test_a_silent_server_ends_at_the_read_timeout_before_the_deadline(connect, ask):
    client, _ = connect("hang", timeouts={"read_s": 0.2, "call_s": 60})
    outcome, records = ask(client)
    assert isinstance(outcome, Text)
    assert records[0].reason == "silent for 0.2 s"


def test_an_endpoint_that_is_not_there_is_an_outcome(connect, serve, ask):
    gone = serve()
    gone.close()
    client, _ = connect(server=gone, attempts=2)
    outcome, records = ask(client)
    assert isinstance(outcome, Retryable)
    assert outcome.trouble is Trouble.CONNECTION
    assert len(records) == 2


class Breaking:
    """A transport that only breaks, and takes its time for it."""

    def __init__(self, why, held, takes_s=0.0):
        self.why, self.held, self.takes_s, self.limits = why, held, takes_s, []

    def post(self, path, body, *, timeout_s):
        self.limits.append(timeout_s)
        self.held.now_s += min(self.takes_s, timeout_s)
        return Broken(why=self.why, reason="broken")

    def close(self):
        pass


def test_time_spent_in_attempts_counts_against_the_deadline(profile_for, held, ask):
    """At 250 s for each attempt the third one begins after 500 of 600 s, and the fourth never."""
    transport = Breaking(Trouble.CONNECTION, held, takes_s=250.0)
    with EndpointClient(profile_for("http://127.0.0.1:9/v1"), transport, timing=held.timing()) as client:
        outcome, records = ask(client)
    assert isinstance(outcome, Retryable)
    assert len(records) == 3
    assert transport.limits[0] == 600
    assert transport.limits[1] <= 350
    assert transport.limits[2] <= 100


def test_a_timeout_is_tried_once_more_only_because_it_may_have_been_billed(profile_for, held, ask):
    client = EndpointClient(profile_for("http://127.0.0.1:9/v1"), Breaking(Trouble.TIMEOUT, held), timing=held.timing())
    outcome, records = ask(client)
    assert isinstance(outcome, Retryable)
    assert len(records) == 2


def test_a_missing_or_absurd_token_count_is_charged_at_our_own_upper_bound(connect, ask):
    for mode in ("no-usage", "absurd-usage"):
        client, _ = connect(mode, max_tokens=1000)
        outcome, records = ask(client)
        assert outcome.usage.estimated_calls == 1
        assert outcome.usage.completion_tokens == 1000
        assert outcome.usage.prompt_tokens >= len(PARENT) // 3
        assert records[0].estimated


def test_the_request_says_what_the_profile_says_and_nothing_more(connect, ask):
    client, server = connect(temperature=0.7, max_tokens=512, max_tokens_field="max_completion_tokens")
    ask(client)
    body = server.seen[0].body
    assert set(body) == {"model", "messages", "max_completion_tokens", "stream", "temperature"}
    assert body["max_completion_tokens"] == 512
    plain, server = connect()
    ask(plain)
    assert "temperature" not in server.seen[0].body


def test_a_record_holds_request_and_answer_word_for_word(connect, ask):
    client, _ = connect("500")
    _, (first, second) = ask(client)
    assert first.request_sha256 == second.request_sha256
    assert PARENT.splitlines()[0] in second.request
    assert second.subject == "g001-c002"
    assert second.prompt_version == REQUEST.prompt_version
    assert second.model == "scripted"
    assert "The server had an error" in first.response
    assert "chatcmpl-scripted" in second.response
    assert (second.prompt_tokens, second.status, second.outcome) == (1200, 200, "text")


@pytest.mark.parametrize("step", ["begin", "arrived", "settle"])
def test_a_book_that_cannot_be_written_is_not_hidden(connect, new_book, monkeypatch, step):
    client, server = connect()

    def full_disk(*_, **__):
        raise OSError("no space")

    book = new_book()
    monkeypatch.setattr(book, step, full_disk)
    with pytest.raises(OSError, match="no space"):
        client.complete(REQUEST, book=book)
    assert len(server.seen) == (0 if step == "begin" else 1)


def test_a_request_is_in_the_book_before_it_is_sent_and_an_answer_before_it_is_read(connect, new_book, monkeypatch):
    client, server = connect("500")
    book, sent = new_book(), []
    monkeypatch.setattr(book, "begin", lambda call: sent.append(len(server.seen)) or type(book).begin(book, call))
    monkeypatch.setattr(client, "_read", lambda *args: book.steps.append("read") or type(client)._read(client, *args))
    client.complete(REQUEST, book=book)
    assert sent == [0, 1]
    assert book.steps == ["begin", "arrived", "read", "retryable/server", "begin", "arrived", "read", "text"]


def test_the_key_is_sent_and_seen_nowhere(connect, serve, caplog, ask):
    caplog.set_level(logging.DEBUG)
    server = serve("key-echo", "500", "reset", "edit", key=KEY)
    client, _ = connect(server=server, environ={"TEST_KEY": KEY}, key_env="TEST_KEY")
    refused, first = ask(client)
    answered, second = ask(client)
    assert isinstance(refused, Fatal)
    assert refused.kind is FatalKind.AUTH
    assert "[key]" in refused.reason
    assert isinstance(answered, Text)
    assert {seen.authorization for seen in server.seen} == {f"Bearer {KEY}"}
    shown = [caplog.text, repr(first), repr(second), repr(refused), repr(answered), repr(client), repr(vars(client)),
             repr(vars(client._transport)), repr(client.profile), client.profile.model_dump_json(), str([seen.body for seen in server.seen])]  # fmt: skip
    assert caplog.text
    assert not [text for text in shown if KEY in text]


def test_a_wrong_key_is_told_from_a_missing_one(connect, serve, ask):
    client, _ = connect(server=serve(key=KEY), environ={"TEST_KEY": "another-key"}, key_env="TEST_KEY")
    outcome, _ = ask(client)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is FatalKind.AUTH


@pytest.mark.parametrize("value", [None, "", f"{KEY}\n", f"two {KEY}", f"{KEY}\u00e9"])
def test_a_key_that_is_missing_or_cannot_be_one_is_refused_without_being_shown(profile_for, value):
    environ = {} if value is None else {"TEST_KEY": value}
    with pytest.raises(KeyMissingError) as error:
        open_client(profile_for("http://127.0.0.1:9/v1", key_env="TEST_KEY"), environ)
    assert "TEST_KEY" in str(error.value)
    assert KEY not in str(error.value)


def test_the_proxies_of_the_environment_are_not_used(connect, monkeypatch, ask):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    client, server = connect(attempts=1)
    outcome, _ = ask(client)
    assert isinstance(outcome, Text)
    assert len(server.seen) == 1


def test_no_more_calls_run_at_a_time_than_the_profile_allows(profile_for, held):
    class Counting:
        def __init__(self):
            self.lock, self.now, self.most, self.both = threading.Lock(), 0, 0, threading.Barrier(2)

        def post(self, path, body, *, timeout_s):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            self.both.wait(30)  # passes only when two are inside at once
            with self.lock:
                self.now -= 1
            return Broken(why=FatalKind.BAD_REQUEST, reason="done")

        def close(self):
            pass

    transport = Counting()
    profile = profile_for("http://127.0.0.1:9/v1", max_concurrency=2)
    with EndpointClient(profile, transport, timing=held.timing()) as client, ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: client.complete(REQUEST), range(6)))
    assert len(outcomes) == 6
    assert transport.most == 2


def test_calls_from_several_threads_get_their_own_answers(connect):
    client, server = connect(max_concurrency=4)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: client.complete(REQUEST), range(8)))
    assert all(isinstance(outcome, Text) for outcome in outcomes)
    assert len({outcome.text for outcome in outcomes}) == 1
    assert len(server.seen) == 8


def test_a_mistake_in_reading_loses_no_answer(connect, ask, monkeypatch):
    client, server = connect()
    broken = replace(client._dialect, decode=lambda *_: {}["missing"])
    monkeypatch.setattr(client, "_dialect", broken)
    outcome, (record,) = ask(client)
    assert isinstance(outcome, Malformed)
    assert record.outcome == "malformed"
    assert "```python" in record.response
    assert len(server.seen) == 1


def test_closing_ends_the_wait_between_attempts(serve, profile_for, new_book):
    """Without a word from anybody the wait would take a day, within a deadline of an hour's length."""
    server = serve("429-wait")
    client = open_client(profile_for(server, timeouts={"call_s": 3_600}), {})
    book, outcomes = new_book(), []
    settled = threading.Event()
    real = book.settle
    book.settle = lambda *args: (real(*args), settled.set())
    asking = threading.Thread(target=lambda: outcomes.append(client.complete(REQUEST, book=book)))
    asking.start()
    assert settled.wait(60)
    client.close()
    asking.join(60)
    assert not asking.is_alive()
    assert [outcome.kind for outcome in outcomes] == [FatalKind.CLOSED]
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "pasted", ["gsk_canary1234567890abcdef", "AIzaSyCanary1234567890", "hf_canaryabcdefghijkl", "sk1"]
)
def test_a_key_where_its_variable_s_name_belongs_is_shown_nowhere(connect, profile_for, ask, pasted):
    profile = profile_for("https://models.example/v1", key_env=pasted)
    for environ in ({}, {pasted: "two words"}):
        with pytest.raises(KeyMissingError, match=r"\[llm.test\] key_env") as error:
            open_client(profile, environ)
        assert pasted not in str(error.value)
    assert pasted not in way_out(profile, Fatal(kind=FatalKind.AUTH, reason="no"))


def test_a_wrong_address_that_answers_something_names_its_setting(profile_for):
    profile = profile_for("http://127.0.0.1:9/v2")
    words = way_out(profile, Retryable(trouble=Trouble.MALFORMED, reason="no"))
    assert "base_url (http://127.0.0.1:9/v2) and dialect (openai_chat) in [llm.test]" in words


def test_another_model_than_was_asked_for_is_named_once(serve, connect, ask, caplog, monkeypatch, llm_server):
    real = llm_server.rendered

    def rendered(*args):
        answer = real(*args)
        answer.body = answer.body.replace(b'"model": "scripted"', b'"model": "another-model"')
        return answer

    client, _ = connect()
    ask(client)
    assert "another-model" not in caplog.text
    monkeypatch.setattr(llm_server, "rendered", rendered)
    ask(client)
    ask(client)
    assert caplog.text.count("asks for model 'scripted', and 'another-model' answers") == 1
