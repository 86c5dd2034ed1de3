"""Gate two: loading. A candidate gets builtins, modules and globals of its own, made anew for each load.

Runs only in a caged child: loading is running. What this keeps away is reach (no name leads to a module, a file, the
interpreter or another load's state), not force: loops, memory and whatever a new escape finds are the cage's.
Attributes cannot be kept away here at all (every function carries ``__globals__``); gate one does that.
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import copy
import dataclasses
import enum
import json
import math
import statistics
import sys
import types
import typing
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from gates.allowed import ALLOWED_BUILTINS, EXPORTS, FROM_ONLY_EXPORTS
from runtime.desk import Desk
from runtime.kernel import CANDIDATE_FILE
from runtime.model import OrderType, Side
from runtime.strategy import INJECTED, Strategy, StrategyError

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping, Sequence

MODULE_NAME: Final = "candidate"
"""What a candidate's classes say that they come from."""

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
_MAX_GENERATED_NAMES: Final = 256
_MAX_PRINTED_LINES: Final = 50


@dataclass(frozen=True, slots=True)
class Loaded:
    """A candidate after loading."""

    namespace: dict[str, Any]
    """Its globals."""
    printed: list[str]
    """What it printed before it had a log; grows while it runs."""


def compile_tree(tree: ast.Module) -> types.CodeType:
    """Compile without any flag of ours leaking in.

    Raises:
        SyntaxError, ValueError, RecursionError: what the compiler has against it.
    """
    return compile(tree, CANDIDATE_FILE, "exec", dont_inherit=True, optimize=0)


def run_module(code: types.CodeType) -> Loaded:
    """Run compiled candidate code in a fresh sandbox.

    Raises:
        BaseException: whatever the candidate's module level raises.
    """
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
    ['__build_class__', '__import__']
    """
    allowed = {name: getattr(builtins, name) for name in ALLOWED_BUILTINS}
    return {**allowed, "print": print_, "__build_class__": builtins.__build_class__, "__import__": import_}


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
    """The ``__import__`` of one load, over fresh proxies."""
    proxies = {name: _proxy(name, exports) for name, exports in EXPORTS.items()}
    only_from = {
        "collections.abc": _proxy("collections.abc", FROM_ONLY_EXPORTS["collections.abc"]),
        "__future__": Proxy(annotations=None),
    }

    def import_(
        name: str,
        globals: object = None,  # noqa: A002, ARG001 - the interpreter's signature
        locals: object = None,  # noqa: A002, ARG001 - same
        fromlist: Sequence[str] | None = None,
        level: int = 0,
    ) -> Proxy:
        found = proxies.get(name) if type(name) is str and level == 0 else None
        if found is None and fromlist and level == 0:
            found = only_from.get(name)
        if found is None:
            raise ImportError("this module cannot be imported")
        return found

    return import_


def _proxy(name: str, exports: Iterable[str]) -> Proxy:
    source = _SOURCES[name]
    values = {export: getattr(source, export) for export in exports}
    values.update({export: made for export, made in _REPLACED.items() if export in values})
    return Proxy(**values)


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
) -> type:
    """``collections.namedtuple``, which writes code from its arguments: names are checked and counted first.

    Raises:
        ValueError: too many names.
    """
    names = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
    _check_generated(typename, names)
    return collections.namedtuple(typename, names, rename=rename, defaults=defaults, module=MODULE_NAME)  # noqa: PYI024 - names are only known here


def fields(class_or_instance: Any) -> tuple[dataclasses.Field[Any], ...]:
    """``dataclasses.fields``, as copies: the originals are shared by everybody who uses the class."""
    return tuple(copy.copy(one) for one in dataclasses.fields(class_or_instance))


_REPLACED: Final[Mapping[str, Callable[..., object]]] = {"namedtuple": namedtuple, "fields": fields}


def _check_generated(typename: object, names: Sequence[object]) -> None:
    if len(names) > _MAX_GENERATED_NAMES:
        raise ValueError(f"a generated class takes at most {_MAX_GENERATED_NAMES} names")
    for name in (typename, *names):
        if type(name) is not str or not name.isidentifier() or not name.isascii() or name.startswith("_"):
            raise ValueError("names of generated classes are plain words that start with a letter")


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

    return type("Strategy", (Strategy,), {"__new__": make, "__module__": MODULE_NAME, "__doc__": Strategy.__doc__})


# -- what all loads of a process share --


def prepare_process() -> None:
    """Make the standard library fit for candidates, for the whole process. For the cage's zygote, before any load.

    Takes away what evaluates text in ``typing`` and the one source of chance in ``statistics``, checks the names from
    which ``Enum(...)`` makes classes, keeps the words of the API's errors as they are, and gives ``dataclass`` the
    module in which it looks up what an annotation in quotes means.
    """
    for holder, name in ((statistics.NormalDist, "samples"), (typing.ForwardRef, "_evaluate")):
        if name in vars(holder):
            delattr(holder, name)
    _guard_enum()
    sys.addaudithook(_refuse_to_quote)
    StrategyError.__setattr__ = _set_once  # type: ignore[method-assign, assignment]  # for this process only
    home = types.ModuleType(MODULE_NAME)
    home.__dict__.update(
        typing=typing,
        dataclasses=dataclasses,
        ClassVar=typing.ClassVar,
        InitVar=dataclasses.InitVar,
        KW_ONLY=dataclasses.KW_ONLY,
    )
    sys.modules[MODULE_NAME] = home


def _refuse_to_quote(event: str, arguments: tuple[object, ...]) -> None:
    """Keep the compiler from opening the candidate's "file" to quote a line in an error: the cage would kill for it."""
    if event == "open" and arguments and arguments[0] == CANDIDATE_FILE:
        raise FileNotFoundError(CANDIDATE_FILE)


def _set_once(error: StrategyError, name: str, value: object) -> None:
    """A candidate may catch the API's error; what it says is quoted to people and models, so it stays ours."""
    if name in vars(error) or name not in {"rule", "message"}:
        raise AttributeError("this error is read-only")
    vars(error)[name] = value


def _guard_enum() -> None:
    """``Enum("Name", names)`` defines class attributes from text: hooks among them are refused."""
    original = enum.EnumType._create_  # type: ignore[attr-defined]  # not in the stubs
    if getattr(original, "is_guarded", False):
        return

    def _create_(cls: Any, class_name: Any, names: Any, **options: Any) -> Any:
        if type(names) is str:
            names = names.replace(",", " ").split()
        members = list(names.items()) if isinstance(names, dict) else list(names or ())
        _check_generated(class_name, [member if type(member) is str else member[0] for member in members])
        options.update(module=MODULE_NAME, qualname=None)
        return original(cls, class_name, members, **options)

    _create_.is_guarded = True  # type: ignore[attr-defined]  # so that a second call changes nothing
    enum.EnumType._create_ = _create_  # type: ignore[attr-defined]  # same


def shared_values() -> tuple[object, ...]:
    """Everything with attributes of its own that candidates share with the engine or with the next load."""
    values = list(INJECTED.values())
    for name, source in _SOURCES.items():
        exports = EXPORTS.get(name) or FROM_ONLY_EXPORTS[name]
        values += [getattr(source, export) for export in exports]
    values += [*Side, *OrderType]
    values += [*_REPLACED.values(), StrategyError]
    return tuple({id(value): value for value in values if hasattr(value, "__dict__")}.values())


class Watch:
    """Remembers the attributes of everything shared, and tells whether one has changed since.

    It sees attributes, not the inside of what they hold. Code that got so far could also deceive it: this is to catch a
    hole in gate one on its first day, not to stop who is through it.
    """

    def __init__(self) -> None:
        self._before = [(value, _attributes(value)) for value in shared_values()]

    def sees_change(self) -> bool:
        """Whether anything shared has an attribute more, less or other than at the start."""
        return any(not _same(_attributes(value), before) for value, before in self._before)


def _attributes(value: object) -> dict[str, object]:
    # The caches of abstract classes change by mere isinstance tests.
    return {name: held for name, held in vars(value).items() if not name.startswith("_abc_")}


def _same(now: dict[str, object], before: dict[str, object]) -> bool:
    return now.keys() == before.keys() and all(held is before[name] for name, held in now.items())
