"""How far can attribute reads go? Walks everything that gate one allows, from everything that a candidate is given.

Closes kinds instead of names: a new attribute of a new Python that leads to a module, a frame or the interpreter's own
functions fails here before anybody has thought of it.
"""

from __future__ import annotations

import builtins
import io
import json
import types
import typing
from datetime import UTC, datetime

import pytest

from gates import allowed
from gates.hooks import is_hook
from gates.sandbox import make_builtins, make_importer
from runtime.bus import MessageBus
from runtime.clock import Clock
from runtime.desk import Desk, IndicatorCall
from runtime.model import Bar, Fill, Order, Position, Side, Timeframe
from runtime.strategy import INJECTED, Strategy

# What must not be reached, whatever the way.
FORBIDDEN_KINDS = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, io.IOBase, typing.ForwardRef)
FORBIDDEN_VALUES = [
    *(getattr(builtins, name) for name in ("eval", "exec", "compile", "open", "input", "getattr", "setattr", "vars")),
    *(getattr(builtins, name) for name in ("globals", "locals", "type", "__import__", "memoryview", "BaseException")),
    vars(builtins),
]
DEPTH = 4


def readable(name: str) -> bool:
    """Whether gate one lets this attribute be read of any object."""
    if is_hook(name) or name in {*allowed.FORBIDDEN_ATTRIBUTES, *allowed.CLOCK_ATTRIBUTES}:
        return False
    if name.startswith("_"):
        return name in allowed.PRIVATE_ATTRIBUTES
    return not name.startswith(allowed.FORBIDDEN_ATTRIBUTE_PREFIXES)


def given() -> list[tuple[str, object]]:
    """What a candidate starts from: names, exports, and objects that it can make or is handed."""
    importer = make_importer()
    start = [(name, value) for name, value in make_builtins(print, importer).items() if not is_hook(name)]
    start += list(INJECTED.items())
    for module, exports in allowed.EXPORTS.items():
        start += [(f"{module}.{name}", getattr(importer(module, None, None, ("x",), 0), name)) for name in exports]
    hint = "x"
    desk = Desk(step_s=86_400)
    strategy = Strategy("s", Clock(desk), MessageBus(), None, Timeframe(86_400))
    strategy._desk = desk
    now = datetime(2020, 1, 1, tzinfo=UTC)
    errors = []
    for fails in (lambda: 1 / 0, lambda: {}[1], lambda: strategy.nope, lambda: json.loads("x"), "\udc80".encode):
        try:
            fails()
        except (ArithmeticError, LookupError, AttributeError, ValueError) as error:
            errors.append(error)
    typing_ = importer("typing", None, None, ("x",), 0)
    made = [
        strategy, strategy.clock, strategy.bus, strategy.submit, now, desk.declare(IndicatorCall("SMA", "close", ())), Bar(now, 1.0, 1.0, 1.0, 1.0, 1.0),
        Order(side=Side.BUY), Fill(ts=now, side=Side.BUY, quantity=1.0, price=1.0, fee=0.0, tag="", order_id=1),
        Position(quantity=0.0, entry_price=None), Side.BUY, (item for item in ()), lambda: 0, property(lambda self: 0),
        "text", b"bytes", 1, 1.0, 1j, [], {}, set(), (), {}.items(), iter([]), map(abs, []), range(3), slice(1), *errors,
        list[hint], typing_.List[hint], typing_.Optional[hint], typing_.Union[int, hint], typing_.Callable[[hint], hint],
        typing_.Type[hint], typing_.ClassVar[hint], typing_.Literal[hint], typing_.Final[hint], typing_.TypeVar("T", bound=hint),
        typing_.NewType("N", "x"), typing_.NamedTuple("N", [("a", "x")]), typing_.TypedDict,
    ]  # fmt: skip
    return start + [(f"<{type(value).__name__}>", value) for value in made]


def steps(path: str, value: object):
    for name in dir(value):
        if not readable(name):
            continue
        try:
            found = getattr(value, name)
        except (AttributeError, TypeError, NotImplementedError, ValueError):
            continue
        yield f"{path}.{name}", found


def forbidden(value: object) -> bool:
    return isinstance(value, FORBIDDEN_KINDS) or any(value is each for each in FORBIDDEN_VALUES)


def test_no_chain_of_allowed_attributes_reaches_the_interpreter():
    frontier, seen, reached = given(), set(), []
    keep = []
    for _ in range(DEPTH):
        following = []
        for path, value in frontier:
            for longer, found in steps(path, value):
                if forbidden(found):
                    reached.append(longer)
                key = (type(found), id(found))
                if key not in seen:
                    seen.add(key)
                    keep.append(found)  # an id is only an identity while its object lives
                    following.append((longer, found))
        frontier = following
    assert reached == []
    assert len(seen) > 500


@pytest.mark.parametrize(
    "value",
    [types, (lambda: 0).__code__, open, eval],
    ids=["a module", "code", "open", "eval"],
)
def test_the_walk_would_notice(value):
    holder = types.SimpleNamespace(inner=types.SimpleNamespace(found=value))
    (_, inner), *_ = steps("holder", holder)
    assert any(forbidden(found) for _, found in steps("inner", inner))
