"""Cassettes: what a real endpoint answered once, word for word, to be answered again without it.

A cassette is a JSON file with one exchange: where it came from, the request's path and body, and the answer's status,
the headers that matter and the body. It holds no header of a request, and so no key. What a request has to be is
decided by the hash of its body: a client that writes another body finds no answer.

Record from a llama.cpp server with ``python tests/llm_cassettes.py http://127.0.0.1:8080 FOLDER``.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

# Whatever else a server sends (cookies, ids of an account, its own name) stays out.
KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms")
# The server gives its model the name of the file, with the folders of the machine that it runs on.
_FOLDERS = re.compile(r'/[^"]*/(?=[^"/]+\.gguf)')
FOLDER = Path(__file__).parent / "evolution" / "llm" / "cassettes"


@dataclass(frozen=True)
class Cassette:
    """One exchange, and what a client has to make of it."""

    name: str
    origin: str
    profile: dict[str, Any]
    messages: list[dict[str, str]]
    shape: dict[str, Any] | None
    outcome: str
    response: dict[str, Any]
    sha256: str
    path: str

    def answer(self) -> httpx.Response:
        """The answer as it came."""
        body = httpx.ByteStream(self.response["body"].encode())
        return httpx.Response(self.response["status"], headers=self.response["headers"], stream=body)


def load(folder: Path = FOLDER) -> list[Cassette]:
    """All cassettes, by name."""
    files = sorted(folder.glob("*.json"))
    return [Cassette(name=file.stem, **json.loads(file.read_text("utf-8"))) for file in files]


def player(cassettes: list[Cassette]) -> httpx.MockTransport:
    """A carrier that answers from cassettes."""
    tapes = {(tape.path, tape.sha256): tape for tape in cassettes}

    def answer(request: httpx.Request) -> httpx.Response:
        key = (request.url.path, digest(request.read()))
        if key not in tapes:
            raise AssertionError(f"no cassette for {key[0]} with body {key[1][:12]}: it has to be recorded again")
        return tapes[key].answer()

    return httpx.MockTransport(answer)


def digest(body: bytes) -> str:
    """What identifies a request; its body is canonical."""
    return hashlib.sha256(body).hexdigest()


# --- Recording -------------------------------------------------------------------------------------------------------

_HELLO = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Say hello."}]
_STORY = [{"role": "user", "content": "Tell a very long story about a lighthouse, with every detail."}]
_LONG = [{"role": "user", "content": "word " * 9_000}]
_SCHEMA = {"type": "object", "properties": {"window": {"type": "integer"}}, "required": ["window"]}
_SCENES: dict[str, tuple[list[dict[str, str]], dict[str, Any] | None]] = {
    "hello": (_HELLO, None),
    "story": (_STORY, None),
    "overflow": (_LONG, None),
    "grammar": (_HELLO, {"grammar": 'root ::= "yes" | "no"'}),
    "bad-grammar": (_HELLO, {"grammar": "root ::= ("}),
    "schema": (_HELLO, {"name": "rule", "schema": _SCHEMA}),
}
_DIALECTS = {
    "llamacpp": ("hello", "story", "overflow", "grammar", "bad-grammar", "schema"),
    "anthropic": ("hello", "story"),
    "openai_responses": ("hello", "story"),
}


def record(address: str, folder: Path) -> None:
    """Ask a llama.cpp server everything, in all dialects that it speaks."""
    for dialect, scenes in _DIALECTS.items():
        for scene in scenes:
            messages, shape = _SCENES[scene]
            profile = {
                "name": "tape",
                "base_url": f"{address}/v1",
                "model": "smollm2",
                "dialect": dialect,
                "max_tokens": 256,
            }
            record_one(folder / f"llamacpp-{dialect}-{scene}.json", profile, messages, shape)


def record_one(
    file: Path, profile: dict[str, Any], messages: list[dict[str, str]], shape: dict[str, Any] | None
) -> None:
    """Ask once, and keep the exchange."""
    from evolution.llm import LlmProfile
    from evolution.llm.client import EndpointClient
    from evolution.llm.transport import HttpTransport

    kept: dict[str, Any] = {}

    class Recording(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            body = _FOLDERS.sub("", (await response.aread()).decode())
            headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
            kept.update(path=request.url.path, sha256=digest(request.content))
            kept["response"] = {"status": response.status_code, "headers": headers, "body": body}
            return httpx.Response(response.status_code, headers=headers, stream=httpx.ByteStream(body.encode()))

    one = LlmProfile.model_validate(profile | {"attempts": 1})
    with EndpointClient(one, HttpTransport(one.base_url, None, one.timeouts, carrier=Recording())) as client:
        outcome = client.complete(as_request(messages, shape))
    document = {
        "origin": "llama.cpp server (xllamacpp 2026.10.11549) with SmolLM2-135M-Instruct Q4_1",
        "profile": profile | {"base_url": "http://127.0.0.1:8080/v1", "attempts": 1},
        "messages": messages,
        "shape": shape,
        "outcome": outcome.code,
        **kept,
    }
    file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")


def as_request(messages: list[dict[str, str]], shape: dict[str, Any] | None) -> Any:
    """A request as the client takes it."""
    from evolution.llm import LlmRequest, Message, Role
    from evolution.llm.shape import Grammar, JsonSchema

    asked = None
    if shape is not None:
        asked = Grammar(shape["grammar"]) if "grammar" in shape else JsonSchema(shape["name"], shape["schema"])
    turns = tuple(Message(Role(each["role"]), each["content"]) for each in messages)
    return LlmRequest(subject="tape", prompt_version="v", messages=turns, shape=asked)


if __name__ == "__main__":
    # Started by hand, this folder is searched first, and its tests of ``evolution`` would stand in front of ours.
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    record(sys.argv[1], Path(sys.argv[2]))
