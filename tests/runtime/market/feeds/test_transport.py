"""The wire itself, against a server that misbehaves: every fault is a value, and nothing takes longer than allowed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import runtime
from runtime.market.feeds import Broken, Fault, PageRequest, Reply
from runtime.market.feeds.transport import HttpTransport

QUERY = (("symbol", "BTCUSDT"), ("interval", "1h"), ("limit", "5"))
REQUEST = PageRequest("/api/v3/klines", QUERY)


@pytest.fixture
def get():
    def send(server, *, timeout_s=20.0, **options):
        with HttpTransport(server.base_url, **options) as transport:
            return transport.get(REQUEST, timeout_s=timeout_s)

    return send


def test_a_request_arrives_as_it_was_meant_and_its_answer_whole(serve, get):
    server = serve()
    reply = get(server)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body[:2], reply.headers["content-type"]) == (
        200,
        b"[[",
        "application/json;charset=UTF-8",
    )
    (seen,) = server.seen
    assert (seen.path, seen.query) == (REQUEST.path, dict(QUERY))
    assert seen.headers["accept-encoding"] == "identity"
    assert "authorization" not in seen.headers


def test_a_path_in_the_address_is_kept(serve):
    server = serve()
    with HttpTransport(server.base_url + "/api") as transport:
        assert transport.get(PageRequest("/v3/klines", QUERY), timeout_s=20).status == 200
    assert server.seen[0].path == "/api/v3/klines"


def test_a_key_goes_into_its_header(serve, get):
    server = serve(key="Bearer s3cret-value")
    assert get(server).status == 401
    assert get(server, headers={"authorization": "Bearer s3cret-value"}).status == 200


def test_the_environments_proxies_and_netrc_are_not_used(serve, get, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server = serve()
    assert get(server).status == 200
    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("mode", ["reset", "cut"])
def test_a_connection_that_breaks_is_told(serve, get, mode):
    broken = get(serve(mode))
    assert isinstance(broken, Broken)
    assert broken.fault is Fault.CONNECTION
    assert broken.reason.startswith("the connection failed (")


def test_a_server_that_is_not_there_is_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        with HttpTransport(address) as transport:
            assert transport.get(REQUEST, timeout_s=20).fault is Fault.CONNECTION


def test_an_answer_byte_by_byte_cannot_outlast_its_time(serve, get):
    """Every single read is quick; only the whole is not."""
    broken = get(serve("drip"), timeout_s=0.3)
    assert (broken.fault, broken.reason) == (Fault.TIMEOUT, "it gave no whole answer within 0 s")


def test_no_answer_at_all_ends_in_time(serve, get):
    assert get(serve("hold"), timeout_s=0.2).fault is Fault.TIMEOUT


def test_an_endless_answer_is_cut_off(serve, get):
    broken = get(serve("flood"), max_reply_bytes=100_000)
    assert (broken.fault, broken.reason) == (Fault.TOO_LARGE, "its answer is larger than 100000 bytes")


def test_a_compressed_answer_is_refused(serve, get):
    assert get(serve("compressed")).fault is Fault.COMPRESSED


def test_redirects_are_answers_and_not_followed(serve, get):
    server = serve("redirect")
    reply = get(server)
    assert (reply.status, reply.headers["location"]) == (302, "https://elsewhere.example/api/v3/klines")
    assert len(server.seen) == 1


def test_one_module_of_the_runtime_speaks_http():
    users = [path.name for path in Path(runtime.__file__).parent.rglob("*.py") if "import httpx" in path.read_text()]
    assert users == ["transport.py"]
