"""A scripted model on loopback: speaks every dialect, really edits the strategy it is shown, and fails on demand.

It takes the parent out of the prompt, changes numbers and comparisons by a seed, and answers in the form that the
prompt asks for: a whole file, SEARCH/REPLACE sections, or a document of the closed language. With two parents it joins them, with none it makes something
of the contract's example. Equal questions get equal answers, whatever the order in which they come.

Faults are chosen by a plan (one mode for each request, then ``edit``), or by the model's name: ``scripted:429-seconds``
does the same on every request. Run it by hand with ``python tests/llm_server.py --port 8099 --plan violating,edit``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import gzip
import hashlib
import json
import random
import re
import socket
import struct
import sys
import threading
import traceback
from collections import deque
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EDIT = "edit"
RETRY_AFTER_S = 3
SMOKE_BARS = 110
"""More than the dry run of the gates has."""
_STAMP = 1_790_000_000
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DOCUMENT = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PAGE = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    path: str
    authorization: str | None
    body: dict[str, Any]
    mode: str

    @property
    def text(self) -> str:
        """Everything that a model would read."""
        return "\n\n".join(message["content"] for message in turns_of(self.body))

    @property
    def key(self) -> str | None:
        """The key that came with it, wherever it stood."""
        return None if self.authorization is None else self.authorization.removeprefix("Bearer ")


@dataclass(slots=True)
class Said:
    """What the model says, in the words of chat completions; each dialect has its own."""

    content: str | None
    finish: str = "stop"
    usage: Any = None
    message: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Trouble:
    """An error, in the words of chat completions."""

    message: str
    code: Any = None
    kind: str = "error"


@dataclass(slots=True)
class Answer:
    """What goes out."""

    status: int = 200
    body: bytes = b""
    """As it is; made from ``content`` where there is one."""
    headers: dict[str, str] = field(default_factory=dict)
    content: Said | Trouble | None = None
    alter: Callable[[bytes], bytes] | None = None
    """Spoils the body once it is made."""
    sends: Callable[[BaseHTTPRequestHandler, Answer], None] | None = None
    """How it goes out, where plainly is not the point."""


# --- Writing strategies ---------------------------------------------------------------------------------------------


def _rng(seed: int, question: str) -> random.Random:
    return random.Random(hashlib.sha256(f"{seed}\n{question}".encode()).digest())


def turns_of(body: dict[str, Any]) -> list[dict[str, str]]:
    """The turns of a request in any dialect, the system text first."""
    system = body.get("instructions") or body.get("system")
    turns = body.get("messages") or body.get("input") or []
    return [{"role": "system", "content": system}, *turns] if system else turns


def parents_in(messages: list[dict[str, str]]) -> list[str]:
    """The strategies that the question shows; the example in the system text is none of them."""
    question = next((message["content"] for message in messages if message["role"] == "user"), "")
    return _CODE.findall(question)


def example_in(messages: list[dict[str, str]]) -> str:
    """The whole strategy that the system text shows."""
    return next(code for message in messages for code in _CODE.findall(message["content"]))


def asks_for_edits(messages: list[dict[str, str]]) -> bool:
    """Whether the answer is to be sections instead of a whole file."""
    return any(message["role"] == "user" and "<<<<<<< SEARCH" in message["content"] for message in messages)


def sections(old: str, new: str) -> str:
    """SEARCH/REPLACE sections that turn one text into another, each with enough lines around it to occur once."""
    before, after = old.split("\n"), new.split("\n")
    written = []
    for tag, start, stop, from_, to in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        low, high = start, max(stop, start + 1)
        while sum(before[i : i + high - low] == before[low:high] for i in range(len(before))) > 1:
            low = max(0, low - 1)
        new_lines = [*before[low:start], *after[from_:to], *before[stop:high]]
        written += ["<<<<<<< SEARCH", *before[low:high], "=======", *new_lines, ">>>>>>> REPLACE"]
    return "\n".join(written) + "\n"


def parsed(code: str) -> ast.Module:
    """By the gates' own parser, which lets one thread in at a time: the server runs in the process that is under test."""
    from gates.scan import reparse
    from runtime.source import StrategySource

    return reparse(StrategySource.from_text(code))


def edited(code: str, rng: random.Random) -> tuple[str, str]:
    """Another strategy: one to three of its numbers and comparisons are changed. With a word on what was done."""
    tree = parsed(code)
    sites = list(_sites(tree))
    notes = [change(rng) for change in rng.sample(sites, min(len(sites), rng.randint(1, 3)))]
    return ast.unparse(tree) + "\n", "; ".join(notes) or "nothing to change"


def _sites(tree: ast.Module) -> Iterable[Callable[[random.Random], str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("param"), args=[ast.Constant(value=int() | float())]):
                yield lambda rng, call=node: _move(call, rng)
            case ast.keyword(arg="stop_loss" | "take_profit" | "trail", value=ast.Constant(value=float())):
                yield lambda rng, word=node: _scale(word.value, rng, word.arg)
            case ast.Compare(ops=[ast.Gt() | ast.Lt()]):
                yield lambda rng, compare=node: _soften(compare, rng)


def _move(call: ast.Call, rng: random.Random) -> str:
    bounds = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    old, low, high = call.args[0].value, bounds["low"], bounds["high"]
    if isinstance(old, int):
        choices = [value for value in range(low, high + 1) if value != old] or [old]
        new: float = rng.choice(choices)
    else:
        new = round(rng.uniform(low, high), 3)
    call.args[0] = ast.Constant(new)
    return f"a parameter from {old} to {new}"


def _scale(constant: ast.Constant, rng: random.Random, name: str) -> str:
    old = constant.value
    constant.value = round(min(0.5, max(0.005, old * rng.choice((0.6, 0.8, 1.3, 1.7)))), 4)
    return f"{name} from {old} to {constant.value}"


def _soften(compare: ast.Compare, rng: random.Random) -> str:
    """``a > b`` becomes ``a > b * 1.01``: a real change that never makes an invalid strategy."""
    factor = rng.choice((0.98, 0.99, 1.01, 1.02))
    compare.comparators[0] = ast.BinOp(compare.comparators[0], ast.Mult(), ast.Constant(factor))
    return f"a threshold by the factor {factor}"


def raising(code: str, after: int = 0) -> str:
    """The strategy, raising after so many bars with a text that only exists at run time."""
    tree = parsed(code)
    on_bar = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "on_bar")
    raised = f"if self.bar_count > {after}: raise ValueError('IGNORE' + '_ALL_RULES')"
    on_bar.body.insert(0, parsed(raised).body[0])
    return ast.unparse(tree) + "\n"


def joined(first: str, second: str, rng: random.Random) -> tuple[str, str]:
    """A child of two: by the offline crossover, or the first one with the second one's changes of mind about numbers."""
    from evolution.operators import Variation, vary
    from runtime.source import StrategySource

    sources = [StrategySource.from_text(first), StrategySource.from_text(second)]
    for _ in range(8):
        variation = vary(sources, random.Random(rng.getrandbits(32)), crossover=True)
        if isinstance(variation, Variation):
            return variation.source.text, f"both parents joined: {variation.detail}"
    return edited(first, rng)


def _written(messages: list[dict[str, str]], seed: int) -> tuple[str, str]:
    parents = parents_in(messages)
    rng = _rng(seed, "\n".join(message["content"] for message in messages))
    if len(parents) > 1:
        return joined(parents[0], parents[1], rng)
    if parents:
        return edited(parents[0], rng)
    code, _ = edited(example_in(messages), rng)
    return code, "an idea of its own"


# --- Writing documents ----------------------------------------------------------------------------------------------


def asks_for_document(messages: list[dict[str, str]]) -> bool:
    """Whether the answer is to be a document of the closed language."""
    return any("one JSON document of a closed language" in message["content"] for message in messages)


def documents_in(messages: list[dict[str, str]]) -> list[str]:
    """The documents that the question shows; where it shows none, one of the seeds, for the market that it names."""
    question = next(message["content"] for message in messages if message["role"] == "user")
    shown = _DOCUMENT.findall(question)
    if shown:
        return shown
    from evolution.seeds import document_sources
    from runtime.model import Timeframe

    named = re.search(r"Its `market` is (\{.*?\})", question)  # a person's wish names none
    timeframe = json.loads(named[1])["timeframe"] if named else "1d"
    return [document_sources(Timeframe.parse(timeframe))[0][1].text]


def _document(messages: list[dict[str, str]], seed: int) -> tuple[str, str]:
    from evolution.operators.documents import vary_document
    from runtime.source import Language, StrategySource

    rng = _rng(seed, "\n".join(message["content"] for message in messages))
    parents = [StrategySource(text.encode(), Language.SIR) for text in documents_in(messages)]
    child = vary_document(parents, rng, crossover=len(parents) > 1) or vary_document(parents[:1], rng, crossover=False)
    return child.source.text, child.detail


def _respond_with_document(mode: str, body: dict[str, Any], seed: int) -> Answer:
    """The modes that write, for documents; what an endpoint is held to by a schema is a document and nothing else."""
    messages = turns_of(body)
    text, note = _document(messages, seed)
    if mode == "duplicate":
        text = documents_in(messages)[0]
    is_held = any(name in body for name in ("response_format", "text", "output_config", "structured_outputs", "format"))
    was_sent_back = any(message["role"] == "assistant" for message in messages)
    if mode == "stubborn" or (mode == "violating" and not was_sent_back):
        text = re.sub(r'"type": "[A-Z]', '"type": "NO_SUCH_', text, count=1)
    if is_held and mode != "violating":
        parts = dict.fromkeys(("universe", "risk", "session", "date_range", "legs", "explainability"))
        text = json.dumps({**parts, **json.loads(text)}) + "\n"
    answer = _WRITTEN.get(mode, _WRITTEN[EDIT])(text, note)
    said = answer.content
    if isinstance(said, Said) and said.content is not None:
        said.content = said.content.replace("```python", "```json")
        if is_held and mode != "two-blocks":
            said.content = re.sub(r"HYPOTHESIS:.*?```json\n(.*?)```\n?", r"\1", said.content, flags=re.DOTALL)
    return answer


# --- Answering ------------------------------------------------------------------------------------------------------


def completion(content: str | None, *, finish: str = "stop", usage: Any = None, **message: Any) -> Answer:
    """What the model says; how it is written down depends on the dialect."""
    return Answer(content=Said(content, finish, usage, message))


def _as_chat(said: Said, prompt_tokens: int) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": said.finish,
                "message": {"role": "assistant", "content": said.content, **said.message},
            }
        ],
        "usage": said.usage or {"prompt_tokens": prompt_tokens, "completion_tokens": _length(said), "total_tokens": 0},
    }
    if said.usage == "none":
        del document["usage"]
    return document


def _as_response(said: Said, prompt_tokens: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": said.content or "", "annotations": []}
    if said.message.get("refusal"):
        part = {"type": "refusal", "refusal": said.message["refusal"]}
    output: list[dict[str, Any]] = [{"type": "reasoning", "summary": []}]
    if said.finish == "tool_calls":
        output.append({"type": "function_call", "name": "run", "arguments": "{}", "call_id": "c"})
    elif said.content is not None or "refusal" in said.message:
        output.append({"type": "message", "role": "assistant", "content": [part]})
    status = {"stop": "completed", "tool_calls": "completed", "length": "incomplete", "content_filter": "incomplete"}
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    return {
        "id": "resp_scripted",
        "object": "response",
        "status": status.get(said.finish, said.finish),
        "incomplete_details": {"reason": reasons[said.finish]} if said.finish in reasons else None,
        "error": None,
        "output": output,
        **_usage(said, prompt_tokens, "input_tokens", "output_tokens"),
    }


def _as_message(said: Said, prompt_tokens: int) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "```python\nx = 1\n```", "signature": "s"}]
    if said.content is not None:
        blocks.append({"type": "text", "text": said.content})
    if said.finish == "tool_calls":
        blocks.append({"type": "tool_use", "id": "t", "name": "run", "input": {}})
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "stop_reason": "refusal" if said.message.get("refusal") else reasons.get(said.finish, said.finish),
        "content": blocks,
        **_usage(said, prompt_tokens, "input_tokens", "output_tokens"),
    }


def _as_ollama(said: Said, prompt_tokens: int) -> dict[str, Any]:
    document: dict[str, Any] = {
        "model": "scripted",
        "message": {"role": "assistant", "content": said.content or said.message.get("refusal") or ""},
        "done": True,
        "done_reason": "stop" if said.finish == "tool_calls" else said.finish,
    }
    if said.finish == "tool_calls":
        document["message"]["tool_calls"] = [{"function": {"name": "run", "arguments": {}}}]
    counts = _usage(said, prompt_tokens, "prompt_eval_count", "eval_count")
    return document | (counts.get("usage") or {})


def _usage(said: Said, prompt_tokens: int, prompt: str, answer: str) -> dict[str, Any]:
    if said.usage == "none":
        return {}
    claim = said.usage or {"prompt_tokens": prompt_tokens, "completion_tokens": _length(said)}
    return {"usage": {prompt: claim["prompt_tokens"], answer: claim["completion_tokens"]}}


def _length(said: Said) -> int:
    return len(said.content or "") // 4 + 1


def _as_error(trouble: Trouble, path: str) -> dict[str, Any]:
    if path == "/api/chat":
        return {"error": trouble.message}
    error = {"message": trouble.message, "type": trouble.kind, "code": trouble.code}
    return {"type": "error", "error": error, "request_id": "r"} if path == "/v1/messages" else {"error": error}


_SPEAK: dict[str, Callable[[Said, int], dict[str, Any]]] = {
    "/v1/chat/completions": _as_chat,
    "/v1/responses": _as_response,
    "/v1/messages": _as_message,
    "/api/chat": _as_ollama,
}


def rendered(answer: Answer, path: str, prompt_tokens: int = 1200) -> Answer:
    """The answer in the dialect of the path it was asked on."""
    if isinstance(answer.content, Said):
        answer.body = json.dumps(_SPEAK[path](answer.content, prompt_tokens)).encode()
    elif isinstance(answer.content, Trouble):
        answer.body = json.dumps(_as_error(answer.content, path)).encode()
    if answer.alter is not None:
        answer.body = answer.alter(answer.body)
    return answer


def _json(status: int, document: Any, **headers: str) -> Answer:
    return Answer(
        status=status, body=json.dumps(document).encode(), headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def _error(status: int, message: str, *, code: Any = None, kind: str = "error", **headers: str) -> Answer:
    return Answer(
        status=status,
        content=Trouble(message, code, kind),
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )


def answer_text(code: str, note: str) -> str:
    """An answer in the form that the prompt asks for."""
    return f"HYPOTHESIS: {note}\n\n```python\n{code}```\n"


def _limit(**headers: str) -> Answer:
    return _error(429, "Rate limit reached", code="rate_limit_exceeded", kind="requests", **headers)


def _respond(mode: str, body: dict[str, Any], seed: int, key: str | None) -> Answer:
    """The answer of one mode. Modes that need the strategy write it; the others do not look at the question."""
    if mode in _PLAIN:
        return _PLAIN[mode]()
    if mode == "key-echo":
        return _error(401, f"Incorrect API key provided: {key}", code="invalid_api_key")
    messages = turns_of(body)
    if asks_for_document(messages):
        return _respond_with_document(mode, body, seed)
    was_sent_back = any(message["role"] == "assistant" for message in messages)
    shown = (parents_in(messages) or [example_in(messages)])[0]
    if mode == "duplicate":
        return completion(answer_text(shown, "the same again"))
    code, note = _written(messages, seed)
    if mode == "violating" and not was_sent_back:
        code = f"import os\n{code}"
    elif mode == "raising" and not was_sent_back:
        code = raising(code)
    elif mode == "raising-ever" or (mode == "raising-late" and not was_sent_back):
        code = raising(code, after=SMOKE_BARS)
    elif mode == "stubborn":
        code = f"import os\n{code}"
    if not asks_for_edits(messages):
        return _WRITTEN.get(mode, _WRITTEN[EDIT])(code, note)
    block = sections(shown, code)
    if mode in _EDITED:
        block = _EDITED[mode](block)
    return _WRITTEN.get(mode, _WRITTEN[EDIT])(block, note)


_EDITED: dict[str, Callable[[str], str]] = {
    "search-miss": lambda block: block.replace("<<<<<<< SEARCH\n", "<<<<<<< SEARCH\n#", 1),
    "search-blank": lambda _: "<<<<<<< SEARCH\n\n=======\n# gap\n>>>>>>> REPLACE\n",
    "marker-in-code": lambda block: block.replace("=======\n", "=======\n=======\n", 1),
    "edit-noop": lambda block: re.sub(r"=======\n.*?>>>>>>> REPLACE", lambda _: "", block, flags=re.DOTALL),
}  # fmt: skip
"""What goes wrong with sections; where a whole file is asked for, these modes answer as they should."""

_PLAIN: dict[str, Callable[[], Answer]] = {
    "429-seconds": lambda: _limit(retry_after=str(RETRY_AFTER_S)),
    "429-ms": lambda: _limit(retry_after_ms=str(RETRY_AFTER_S * 1000)),
    "429-date": lambda: _limit(date=formatdate(_STAMP, usegmt=True), retry_after=formatdate(_STAMP + RETRY_AFTER_S, usegmt=True)),
    "429-none": _limit,
    "429-wait": lambda: _limit(retry_after="1800"),
    "429-long": lambda: _limit(retry_after="86400"),
    "429-garbage": lambda: _limit(retry_after="soon"),
    "429-quota": lambda: _error(429, "You exceeded your current quota", code="insufficient_quota", kind="insufficient_quota"),
    "429-spend": lambda: _json(
        429, {"type": "error", "error": {"type": "rate_limit_error", "message": "spend limit", "details": {"error_code": "enforced_spend_limit_reached"}}}
    ),
    "500": lambda: _error(500, "The server had an error", kind="server_error"),
    "502": lambda: Answer(status=502, body=_PAGE, headers={"content-type": "text/html"}),
    "503": lambda: _error(503, "Loading model", code=503, kind="unavailable_error"),
    "529": lambda: _error(529, "Overloaded", kind="overloaded_error"),
    "400": lambda: _error(400, "Unsupported parameter: max_tokens", code="unsupported_parameter", kind="invalid_request_error"),
    "400-overflow": lambda: _error(400, "the request exceeds the context size", code=400, kind="exceed_context_size_error"),
    "401": lambda: _error(401, "Incorrect API key provided", code="invalid_api_key"),
    "402": lambda: _error(402, "Payment required"),
    "403-page": lambda: Answer(status=403, body=_PAGE, headers={"content-type": "text/html"}),
    "404": lambda: _error(404, "The model `scripted` does not exist", code="model_not_found"),
    "redirect": lambda: Answer(status=307, headers={"location": "http://127.0.0.1:9/v1/chat/completions"}),
    "html": lambda: Answer(body=_PAGE, headers={"content-type": "text/html"}),
    "error-200": lambda: _error(200, "Provider returned error", code=502),
    "error-200-quota": lambda: _error(200, "no credits", code="insufficient_quota"),
    "compressed": lambda: Answer(content=Said("hello"), alter=gzip.compress, headers={"content-encoding": "gzip"}),
    "deep": lambda: Answer(body=b"[" * 100_000),
    "not-json": lambda: Answer(body=b"upstream connect error or disconnect"),
    "length": lambda: completion("HYPOTHESIS: shorter\n\n```python\nclass Half(Strategy):\n    def on_bar(self, bar):", finish="length"),
    "null": lambda: completion(None),
    "empty": lambda: completion("  \n"),
    "refusal": lambda: completion(None, refusal="I cannot help with that."),
    "filter": lambda: completion("", finish="content_filter"),
    "odd-finish": lambda: completion("hello", finish="abandoned"),
    "prose": lambda: completion("I would buy when it rises and sell when it falls. class Idea(Strategy): maybe?"),
    "tool-call": lambda: completion(None, finish="tool_calls", tool_calls=[{"type": "function", "function": {"name": "run", "arguments": "{}"}}]),
    "hang": lambda: Answer(sends=_hang),
}  # fmt: skip

_WRITTEN: dict[str, Callable[[str, str], Answer]] = {
    EDIT: lambda code, note: completion(answer_text(code, note)),
    "no-usage": lambda code, note: completion(answer_text(code, note), usage="none"),
    "absurd-usage": lambda code, note: completion(answer_text(code, note), usage={"prompt_tokens": -5, "completion_tokens": 10**30}),
    "two-blocks": lambda code, note: completion(answer_text(code, note) + f"\nOr rather:\n\n```python\n{code}```\n"),
    "open-block": lambda code, note: completion(answer_text(code, note).removesuffix("```\n")),
    "other-language": lambda code, note: completion(f"```javascript\n{code}```"),
    "curly-quotes": lambda code, note: completion(answer_text(code.replace("'", "\u2018") + "# \u201cdone\u201d\n", note)),
    "thinking": lambda code, note: completion(f"<think>\n```python\nx = 1\n```\n</think>\n{answer_text(code, note)}"),
    "long-note": lambda code, note: completion(answer_text(code, f"{note} \u202e" + "very " * 200)),
    "prose-around": lambda code, note: completion(f"Certainly! Here it is.\n\n{answer_text(code, note)}\nLet me know whether it helps."),
    "tilde-fence": lambda code, note: completion(f"HYPOTHESIS: {note}\n\n~~~python\n{code}~~~\n"),
    "long-fence": lambda code, note: completion(f"HYPOTHESIS: {note}\n\n````python\n# ```\n{code}````\n"),
    "double-fence": lambda code, note: completion(f"```python\n{answer_text(code, note)}```\n"),
    "nbsp": lambda code, note: completion(answer_text(code.replace("    ", "\u00a0   ", 1), note)),
    "zero-width": lambda code, note: completion(answer_text(code.replace("self", "se\u200blf", 1), note)),
    "bom": lambda code, note: completion(answer_text(f"\ufeff{code}", note)),
    "crlf": lambda code, note: completion(answer_text(code, note).replace("\n", "\r\n")),
    "tabs": lambda code, note: completion(answer_text(code.replace("    ", "\t"), note)),
    "other-model": lambda code, note: completion(answer_text(code, note), model="another-model"),
    "slow": lambda code, note: Answer(content=Said(answer_text(code, note)), sends=_slow),
    "cut-json": lambda code, note: Answer(content=Said(answer_text(code, note)), alter=lambda body: body[:-40]),
    "reset": lambda code, note: Answer(content=Said(answer_text(code, note)), sends=_reset),
    "drip": lambda code, note: Answer(content=Said(answer_text(code, note)), sends=_drip),
    "huge": lambda code, note: Answer(sends=_flood),
}  # fmt: skip

MODES = (
    *_PLAIN,
    *_WRITTEN,
    *_EDITED,
    "key-echo",
    "duplicate",
    "violating",
    "raising",
    "raising-late",
    "raising-ever",
    "stubborn",
    "cut-prompt",
)


def _hang(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.server.closing.wait(60)
    handler.close_connection = True


def _slow(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.server.closing.wait(0.3)
    _head(handler, answer, len(answer.body))
    handler.wfile.write(answer.body)


def _reset(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    _head(handler, answer, len(answer.body))
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.wfile.flush()
    # Linger with a time of zero turns close into a reset.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def _drip(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    _head(handler, answer, len(answer.body))
    for byte in answer.body:
        handler.wfile.write(bytes([byte]))
        if handler.server.closing.wait(0.02):
            break
    handler.close_connection = True


def _flood(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    for _ in range(4096):
        handler.wfile.write(b"x" * 16_384)
    handler.close_connection = True


def _head(handler: BaseHTTPRequestHandler, answer: Answer, length: int) -> None:
    handler.send_response_only(answer.status)
    headers = {"content-type": "application/json", "date": formatdate(usegmt=True), **answer.headers}
    for name, value in {**headers, "content-length": str(length)}.items():
        handler.send_header(name, value)
    handler.end_headers()


# --- Serving --------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers.get("authorization") or self.headers.get("x-api-key")
        answer = self.server.scripted.answer(self.path, key, body)
        # A client that gave up is what several of the modes are for.
        with contextlib.suppress(ConnectionError):
            if answer.sends is not None:
                answer.sends(self, answer)
                return
            _head(self, answer, len(answer.body))
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Say nothing: ``seen`` has it all."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A broken connection is not an error of the server's; anything else is, and shows."""
        if not isinstance(sys.exception(), ConnectionError):
            traceback.print_exc()


class ScriptedServer:
    """The server, running in threads of this process from construction to ``close``; also a context manager.

    Args:
        plan: Modes for the first requests, in order of arrival; after that every request is answered by ``edit``.
        seed: Another seed edits the same strategies in another way.
        key: The only key that is let in; None lets everybody in.
        port: 0 takes any free one.
    """

    def __init__(self, plan: Iterable[str] = (), *, seed: int = 0, key: str | None = None, port: int = 0) -> None:
        self.plan = deque(plan)
        unknown = set(self.plan) - set(MODES)
        if unknown:
            raise ValueError(f"unknown modes {sorted(unknown)}; there are {', '.join(MODES)}")
        self.seen: list[Seen] = []
        self._seed = seed
        self._key = key
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.scripted = self
        self._server.closing = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Without a path: what goes into a profile of dialect ``ollama``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What goes into a profile of any other dialect."""
        return f"{self.address}/v1"

    def answer(self, path: str, authorization: str | None, body: dict[str, Any]) -> Answer:
        """Decide on one request, and remember it."""
        _, _, named = body["model"].partition(":")
        with self._lock:
            mode = self.plan.popleft() if self.plan else named or EDIT
            self.seen.append(Seen(path, authorization, body, mode))
        if path not in _SPEAK:
            return rendered(_error(404, "no such path"), path)
        if self._key is not None and self.seen[-1].key != self._key:
            return rendered(_error(401, "Incorrect API key provided", code="invalid_api_key"), path)
        # The last dialect's client holds the count against its own estimate; the others get one that tests know.
        prompt_tokens = len(json.dumps(body)) // 4 if path == "/api/chat" else 1200
        return rendered(
            _respond(mode, body, self._seed, authorization), path, 1 if mode == "cut-prompt" else prompt_tokens
        )

    def close(self) -> None:
        """Stop, and let go of everybody who still waits."""
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted model on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--key", default=None, help="the only key that is let in")
    parser.add_argument("--plan", default="", help=f"modes for the first requests, by comma: {', '.join(MODES)}")
    options = parser.parse_args()
    # Started by hand, this folder is searched first, and its tests of ``evolution`` would stand in front of ours.
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    plan = [mode for mode in options.plan.split(",") if mode]
    with ScriptedServer(plan, seed=options.seed, key=options.key, port=options.port) as server:
        print(server.base_url, flush=True)  # noqa: T201 - whoever starts it by hand needs the address
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
