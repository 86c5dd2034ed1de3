"""Bytes out, bytes in: addresses, caps, deadlines and closing."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pydantic import SecretStr

from evolution.llm import LlmRequest, Message, Role, Timeouts
from evolution.llm.exchange import Broken, Reply
from evolution.llm.outcomes import Fatal, FatalKind, Trouble
from evolution.llm.transport import HttpTransport

KEY = "canary-key-7f3a91c2d4"


def respond(status, *, content="", headers=None):
    body = content.encode() if isinstance(content, str) else content
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))


@pytest.fixture
def carried():
    """A transport over a function instead of a network."""
    opened = []

    def open_one(answer, *, key=KEY, **options):
        transport = HttpTransport(
            "https://models.example/v1",
            SecretStr(key) if key else None,
            Timeouts(),
            carrier=httpx.MockTransport(answer),
            **options,
        )
        opened.append(transport)
        return transport

    yield open_one
    for transport in opened:
        transport.close()


def test_a_request_goes_below_the_base_address_with_the_key_as_bearer(carried):
    requests = []

    def answer(request):
        requests.append(request)
        return respond(200, headers={"X-Request-Id": "r1"}, content=b"{}")

    reply = carried(answer).post("/chat/completions", b'{"a":1}', timeout_s=5)
    assert reply == Reply(status=200, headers=reply.headers, body=b"{}")
    assert reply.headers["x-request-id"] == "r1"
    (request,) = requests
    assert str(request.url) == "https://models.example/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert request.read() == b'{"a":1}'


def test_without_a_key_no_authorization_is_sent(carried):
    headers = []
    carried(lambda request: headers.append(request.headers) or respond(200), key=None).post("/x", b"", timeout_s=5)
    assert "authorization" not in headers[0]


def test_a_redirect_is_an_answer_and_is_not_followed(carried):
    urls = []

    def answer(request):
        urls.append(str(request.url))
        return respond(308, headers={"location": "https://elsewhere.example/"})

    reply = carried(answer).post("/x", b"", timeout_s=5)
    assert isinstance(reply, Reply)
    assert reply.status == 308
    assert urls == ["https://models.example/v1/x"]


def test_an_echoed_key_is_blanked_in_body_and_headers(carried):
    reply = carried(lambda _: respond(401, headers={"www-authenticate": f"got {KEY}"}, content=f"{KEY} {KEY}")).post(
        "/x", b"", timeout_s=5
    )
    assert reply.body == b"[key] [key]"
    assert reply.headers["www-authenticate"] == "got [key]"


def test_bytes_beyond_ascii_survive_the_blanking(carried):
    body = "caf\u00e9 \u4e2d\u6587".encode() + b"\xff\x00"
    assert carried(lambda _: respond(200, content=body)).post("/x", b"", timeout_s=5).body == body


def test_a_very_short_key_cuts_no_holes_into_answers(carried):
    assert carried(lambda _: respond(200, content=b"xyz"), key="x").post("/x", b"", timeout_s=5).body == b"xyz"


@pytest.mark.parametrize(("size", "fits"), [(100, True), (101, False)])
def test_an_answer_ends_at_the_cap(carried, size, fits):
    reply = carried(lambda _: respond(200, content=b"x" * size), max_reply_bytes=100).post("/x", b"", timeout_s=5)
    assert isinstance(reply, Reply) is fits
    if not fits:
        assert reply.why is FatalKind.TOO_LARGE


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (httpx.ConnectError(f"no route for {KEY}"), Trouble.CONNECTION),
        (httpx.ConnectTimeout("slow"), Trouble.CONNECTION),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), Trouble.CONNECTION),
        (httpx.LocalProtocolError(f"Illegal header value {KEY}"), Trouble.CONNECTION),
        (httpx.ReadTimeout("silent"), Trouble.TIMEOUT),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_become_values_without_their_own_words(carried, error, why):
    def answer(_):
        raise error

    broken = carried(answer).post("/x", b"", timeout_s=5)
    assert isinstance(broken, Broken)
    assert broken.why is why
    assert KEY not in repr(broken)


def test_closing_ends_the_calls_under_way(connect):
    """An interrupted run must not wait ten minutes for an answer that nobody will read."""
    client, server = connect("hang")
    request = LlmRequest(subject="g", prompt_version="v", messages=(Message(Role.USER, "hello"),))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(client.complete, request)
        while not server.seen:
            time.sleep(0.01)
        client.close()
        outcome = call.result(timeout=30)
    assert isinstance(outcome, Fatal)
    assert outcome.kind is FatalKind.CLOSED
    late = client.complete(request)
    assert isinstance(late, Fatal)
    assert late.kind is FatalKind.CLOSED


def spellings(char):
    return [
        char,
        f"\\{char}",
        f"\\u{ord(char):04x}",
        f"\\u{ord(char):04X}",
        f"\\\\u{ord(char):04x}",
        f"%{ord(char):02X}",
    ]


@pytest.mark.parametrize("key", [KEY, "sk-canary/AbCd+1234", "c2stY2FuYXJ5MTIzNA==", 'q"u\\o<t>e&d~1', "AAAAAAAAAAAA"])
def test_no_spelling_of_the_key_survives(carried, key):
    """JSON may escape any character, and whoever decodes it has the key again."""
    dice = random.Random(7)
    echoes = ["".join(dice.choice(spellings(char)) for char in key) for _ in range(40)]
    for echo in [key, json.dumps(key)[1:-1], key.replace("/", "\\/"), *echoes]:
        transport = carried(lambda _, echo=echo: respond(401, content=f'{{"message":"<{echo}>"}}'), key=key)
        reply = transport.post("/x", b"{}", timeout_s=60)
        assert reply.body == b'{"message":"<[key]>"}', echo
        transport.close()


def test_a_call_that_is_cut_off_by_closing_may_be_billed_and_one_after_it_is_not(connect):
    client, server = connect("hang")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(client._transport.post, "/chat/completions", b'{"model":"m"}', timeout_s=60)
        while not server.seen:
            time.sleep(0.01)
        client.close()
        assert call.result(60) == Broken(why=FatalKind.CLOSED, reason="the client was closed", may_be_billed=True)
    assert not client._transport.post("/chat/completions", b"{}", timeout_s=60).may_be_billed


@pytest.mark.parametrize(("status", "kind"), [(503, Reply), (401, Reply), (200, Broken)])
def test_a_compressed_page_with_an_error_is_known_by_its_status(carried, status, kind):
    answer = carried(lambda _: respond(status, content=b"\x1f\x8b", headers={"content-encoding": "gzip"}))
    assert type(answer.post("/x", b"{}", timeout_s=60)) is kind


def test_an_empty_encoding_is_none(carried):
    answer = carried(lambda _: respond(200, content=b"{}", headers={"content-encoding": ""}))
    assert answer.post("/x", b"{}", timeout_s=60).body == b"{}"
