"""Gate two: loading. A candidate gets builtins, modules and globals of its own, made anew for each load.

Runs only in a caged child: loading is running. What this keeps away is reach (no name leads to a module, a file, the
interpreter or another load's state), not force: loops, memory and whatever a new escape finds are the cage's.
Attributes cannot be kept away here at all (every function carries ``__globals__``); gate one does that.
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import copyreg
import dataclasses
import enum
import json
import math
import operator
import statistics
import sys
import types
import typing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gates.allowed import ALLOWED_BUILTINS, EXPORTS, FROM_ONLY_EXPORTS
from gates.guards import GUARDED_BUILTINS, MODULE_NAME, Instance, build_class, restart_serials
from gates.library import REPLACED, forget, tame_library
from gates.weave import weave
from runtime.bus import MessageBus
from runtime.clock import Clock
from runtime.desk import Desk, OpenOrder, Series
from runtime.kernel import CANDIDATE_FILE
from runtime.model import Bar, Fill, OrderType, Side
from runtime.strategy import INJECTED, Strategy, StrategyError

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping, Sequence

# C code imports with the `__import__` of whoever calls it, throws the answer away and takes the module from `sys.modules`:
# `datetime.strftime` needs `time`. It passes a list of names; the import statement passes a tuple or nothing.
_IMPORTED_BY_C: Final = frozenset(("time", "_strptime", "_pylong"))
# The real modules behind the proxies.
_SOURCES: Final[Mapping[str, types.ModuleType]] = {
    "math": math,
    "statistics": statistics,
    "collections": collections,
    "dataclasses": dataclasses,
    "typing": typing,
    "enum": enum,
    "json": json,
    "collections.abc": collections.abc,
}
# Names that only ``from NAME import ...`` takes.
_ONLY_FROM: Final = frozenset({*FROM_ONLY_EXPORTS, "__future__"})
_MAX_PRINTED_LINES: Final = 50


@dataclass(frozen=True, slots=True)
class Loaded:
    """A candidate after loading."""

    namespace: dict[str, Any]
    """Its globals."""
    printed: list[str]
    """What it printed before it had a log; grows while it runs."""


def compile_tree(tree: ast.Module) -> types.CodeType:
    """Compile with the run-time checks woven into ``tree``, and without any flag of ours leaking in.

    Raises:
        SyntaxError, ValueError, RecursionError: what the compiler has against it.
    """
    return compile(weave(tree), CANDIDATE_FILE, "exec", dont_inherit=True, optimize=0)


def run_module(code: types.CodeType) -> Loaded:
    """Run compiled candidate code in a fresh sandbox.

    Raises:
        BaseException: whatever the candidate's module level raises.
    """
    forget()
    restart_serials()
    printer = _Printer()
    namespace: dict[str, Any] = {
        "__name__": MODULE_NAME,
        "__builtins__": make_builtins(printer.print, make_importer()),
        **INJECTED,
        "Strategy": _fresh_strategy(printer),
    }
    exec(code, namespace)  # noqa: S102 - the purpose of this module, in a caged child
    return Loaded(namespace, printer.early)


def make_builtins(print_: Callable[..., None], import_: Callable[..., object]) -> dict[str, Any]:
    """The builtins of one load: a new dict, so that no load can change another's.

    >>> sorted(set(make_builtins(print, print)) - ALLOWED_BUILTINS)
    ['<own instance>', '<own>', '<shown each>', '<shown operand>', '<shown>', '__build_class__', '__import__']
    """
    allowed = {name: getattr(builtins, name) for name in ALLOWED_BUILTINS}
    own = {"print": print_, "__build_class__": build_class, "__import__": import_}
    return {**allowed, **GUARDED_BUILTINS, **own}


# -- modules --


class Proxy(SimpleNamespace):
    """A module as a candidate sees it: listed names, no way back, nothing to set.

    It has no ``__name__``: ``from X import y`` falls back to ``sys.modules`` for modules that have one.
    """

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("modules are read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("modules are read-only")

    def __repr__(self) -> str:
        return "<module>"


def make_importer() -> Callable[..., object]:
    """The ``__import__`` of one load, over fresh proxies, each made when it is first asked for."""
    made: dict[str, Proxy] = {"__future__": Proxy(annotations=None)}

    def proxy_of(name: str) -> Proxy:
        if name not in made:
            made[name] = _proxy(name, EXPORTS.get(name) or FROM_ONLY_EXPORTS[name])
        return made[name]

    def import_(
        name: str,
        globals: object = None,  # noqa: A002, ARG001 - the interpreter's signature
        locals: object = None,  # noqa: A002, ARG001 - same
        fromlist: Sequence[str] | None = None,
        level: int = 0,
    ) -> Proxy:
        if type(name) is str and level == 0 and (name in EXPORTS or (fromlist and name in _ONLY_FROM)):
            return proxy_of(name)
        if type(fromlist) is list and name in _IMPORTED_BY_C:
            return Proxy()
        raise ImportError("this module cannot be imported")

    return import_


def _proxy(name: str, exports: Iterable[str]) -> Proxy:
    source = _SOURCES[name]
    values = {export: getattr(source, export) for export in exports}
    values.update({export: REPLACED[full] for export in values if (full := f"{name}.{export}") in REPLACED})
    return Proxy(**values)


# -- strategies and their output --


class _Printer:
    """``print`` of one load: into the log of the strategy that was made first, kept back until it has one."""

    def __init__(self) -> None:
        self.early: list[str] = []
        self.owner: Strategy | None = None

    def print(
        self, *values: object, sep: str | None = None, end: str | None = None, file: object = None, flush: bool = False
    ) -> None:
        """Write a line to the log.

        Raises:
            TypeError: a file was given; there are none here.
        """
        del end, flush  # a log has lines and no buffer
        if file is not None:
            raise TypeError("print writes to the log only")
        if not (sep is None or type(sep) is str):
            raise TypeError("sep is a text")
        text = (" " if sep is None else sep).join(map(str, values))
        if self.owner is not None and isinstance(self.owner._desk, Desk):  # noqa: SLF001 - is it seated yet?
            Strategy.log(self.owner, text)
        elif len(self.early) < _MAX_PRINTED_LINES:
            self.early.append(text[:500])


def _fresh_strategy(printer: _Printer) -> type[Strategy]:
    """A base class of this load alone: what a candidate does to it ends with the load."""

    def make(cls: type[Strategy], *_arguments: object, **_options: object) -> Strategy:
        made: Strategy = object.__new__(cls)
        if printer.owner is None:
            printer.owner = made
        return made

    return type(
        "Strategy", (Strategy, Instance), {"__new__": make, "__module__": MODULE_NAME, "__doc__": Strategy.__doc__}
    )


# -- what all loads of a process share --


def prepare_process() -> None:
    """Make the process fit for candidates. For the cage's zygote, before any load.

    Tames the standard library, keeps the words of the API's errors as they are, gives the engine's objects texts without
    addresses, and freezes the one open dict of the bar's class.
    """
    tame_library()
    sys.addaudithook(_refuse_to_quote)
    StrategyError.__setattr__ = _set_once  # type: ignore[method-assign, assignment]  # for this process only
    for kind in (Strategy, Series, Clock, MessageBus):
        kind.__repr__ = Instance.__repr__  # type: ignore[assignment]  # same
    for record in (Bar, Fill):
        record._field_defaults = types.MappingProxyType({})  # type: ignore[assignment]  # for this process only
    for value in shared_values():
        if isinstance(value, type):
            copyreg._slotnames(value)  # type: ignore[attr-defined]  # noqa: SLF001 - what the first copy of an object notes on its class


def _refuse_to_quote(event: str, arguments: tuple[object, ...]) -> None:
    """Keep the compiler from opening the candidate's "file" to quote a line in an error: the cage would kill for it."""
    if event == "open" and arguments and arguments[0] == CANDIDATE_FILE:
        raise FileNotFoundError(CANDIDATE_FILE)


def _set_once(error: StrategyError, name: str, value: object) -> None:
    """A candidate may catch the API's error; what it says is quoted to people and models, so it stays ours."""
    if name in vars(error) or name not in {"rule", "message"}:
        raise AttributeError("this error is read-only")
    vars(error)[name] = value


def shared_values() -> tuple[object, ...]:
    """Everything with attributes of its own that candidates share with the engine or with the next load."""
    values = list(INJECTED.values())
    for name, source in _SOURCES.items():
        exports = EXPORTS.get(name) or FROM_ONLY_EXPORTS[name]
        values += [getattr(source, export) for export in exports]
    values += [*Side, *OrderType, *REPLACED.values(), StrategyError, Series, OpenOrder]
    # Functions have attributes too: those in classes, and behind classmethods and properties.
    for value in list(values):
        if isinstance(value, type):
            values += [getattr(held, "__func__", held) for held in vars(value).values() if callable(held)]
    return tuple({id(value): value for value in values if hasattr(value, "__dict__")}.values())


class Watch:
    """Remembers the attributes of everything shared, and tells whether one has changed since.

    It sees attributes, not the inside of what they hold. Code that got so far could also deceive it: this is to catch a
    hole in gate one on its first day, not to stop who is through it.
    """

    def __init__(self) -> None:
        self._before = [_Attributes(each, list(vars(each)), list(vars(each).values())) for each in shared_values()]

    def sees_change(self) -> bool:
        """Whether anything shared has an attribute more, less, other or in another place than at the start."""
        # In C from end to end: a thousand objects are looked at after every run.
        return any(
            list(now := vars(value)) != names or not all(map(operator.is_, now.values(), held))
            for value, names, held in self._before
        )


class _Attributes(NamedTuple):
    """The attributes of one shared object, as they were."""

    value: object
    names: list[str]
    held: list[object]
