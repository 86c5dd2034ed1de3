"""The standard library as candidates get it: nothing of theirs reaches a code generator, no method works on a stranger.

Two halves. Functions here stand in the place of those that make classes from values, and check copies made of exact builtin
types, so that nothing can change between the check and its use. ``tame_library`` changes the shared modules for the whole
process: methods written in Python refuse a ``self`` that is no object of their class, since ``Counter.copy(list)`` would
otherwise answer with what ``list.__class__`` is.
"""

from __future__ import annotations

import _strptime  # type: ignore[import-not-found]  # noqa: F401 - not in the stubs; datetime's C code looks for it
import collections
import collections.abc
import copy
import dataclasses
import enum
import json
import keyword
import os
import statistics
import sys
import time
import types
import typing
from typing import TYPE_CHECKING, Any, Final, NoReturn

from gates.guards import MODULE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MAX_GENERATED_NAMES: Final = 256
_MAX_FORWARD_REFERENCE: Final = 200
_DATACLASS_OPTIONS: Final = frozenset(
    ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots")
)


# -- classes made from values --


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
) -> type:
    """``collections.namedtuple``, which writes code from its arguments: names are checked and counted first.

    Raises:
        ValueError: too many names, or one that is no plain word.
    """
    names = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
    _check_generated(typename, names)
    return collections.namedtuple(typename, names, rename=rename is True, defaults=defaults, module=MODULE_NAME)  # noqa: PYI024 - names are only known here


class _NamedTuple:
    """``typing.NamedTuple``: a base of classes, and a function over pairs of names and types."""

    __slots__ = ()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        original = tuple(typing.NamedTuple if base is self else base for base in bases)
        entries: tuple[type, ...] = typing.NamedTuple.__mro_entries__(original)  # type: ignore[attr-defined]  # a function with it
        return entries

    def __call__(self, typename: str, fields: Iterable[tuple[str, object]] = (), /) -> type:
        return namedtuple(typename, [_pair(field)[0] for field in fields])

    def __repr__(self) -> str:
        return "typing.NamedTuple"


class _TypedDict:
    """``typing.TypedDict``: a base of classes only. Its other form takes any text as a name."""

    __slots__ = ()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        original = tuple(typing.TypedDict if base is self else base for base in bases)
        entries: tuple[type, ...] = typing.TypedDict.__mro_entries__(original)  # type: ignore[attr-defined]  # a function with it
        return entries

    def __call__(self, *_arguments: object, **_options: object) -> NoReturn:
        raise TypeError("write a TypedDict as a class")

    def __repr__(self) -> str:
        return "typing.TypedDict"


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """``dataclasses.dataclass``, which writes the names of fields into code: for classes of the file, with plain names.

    Raises:
        TypeError: not a class of the file, or not an option.
        ValueError: too many names, or one that is no plain word.
    """
    if not _DATACLASS_OPTIONS.issuperset(options) or any(type(option) is not bool for option in options.values()):
        raise TypeError(f"dataclass takes {', '.join(sorted(_DATACLASS_OPTIONS))}, each True or False")
    if cls is None:
        return lambda given: dataclass(given, **options)
    if type(cls) is not type or cls.__dict__.get("__module__") != MODULE_NAME:
        raise TypeError("dataclass takes a plain class of the file")
    written = dict(cls.__dict__.get("__annotations__", {}))  # noqa: RUF063 - of this class alone, in every version
    _check_fields(list(written))
    cls.__annotations__ = written  # a copy: nobody else holds it
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # or it would be made from the texts of all defaults
    return dataclasses.dataclass(cls, **options)


def fields(class_or_instance: Any) -> tuple[dataclasses.Field[Any], ...]:
    """``dataclasses.fields``, as copies: the originals are shared by everybody who uses the class."""
    return tuple(copy.copy(one) for one in dataclasses.fields(class_or_instance))


def _pair(value: Any) -> tuple[str, object]:
    name, held = value
    if type(name) is not str:
        raise ValueError("names of generated classes are plain words that start with a letter")
    return name, held


def _check_generated(typename: object, names: Sequence[object]) -> None:
    if len(names) > _MAX_GENERATED_NAMES:
        raise ValueError(f"a generated class takes at most {_MAX_GENERATED_NAMES} names")
    for name in (typename, *names):
        if type(name) is not str or not name.isidentifier() or not name.isascii() or name.startswith("_"):
            raise ValueError("names of generated classes are plain words that start with a letter")


def _check_fields(names: Sequence[object]) -> None:
    if len(names) > _MAX_GENERATED_NAMES:
        raise ValueError(f"a generated class takes at most {_MAX_GENERATED_NAMES} names")
    for name in names:
        if type(name) is not str or not name.isidentifier() or not name.isascii() or name.startswith("__"):
            raise ValueError("fields of a dataclass are plain words")
        if keyword.iskeyword(name):
            raise ValueError("fields of a dataclass are no keywords")


# -- functions that take more than a candidate needs --


def final(value: Any) -> Any:
    """``typing.final`` without its mark, which it would set on anything."""
    return value


def overload(_function: object) -> Callable[..., NoReturn]:
    """``typing.overload`` without its registry, which the next load would share."""

    def stands_in(*_arguments: object, **_options: object) -> NoReturn:
        raise NotImplementedError("an overload is only its signature")

    return stands_in


def dumps(value: Any, **options: Any) -> str:
    """``json.dumps`` without a class of one's own for the encoder.

    Raises:
        TypeError: not an option, or not a value for JSON.
    """
    if options.pop("cls", None) is not None:
        raise TypeError("cls is not available: use default=")
    return json.dumps(value, **options)


def loads(text: str, **options: Any) -> Any:
    """``json.loads`` without a class of one's own for the decoder.

    Raises:
        TypeError: not a text, or not an option.
        json.JSONDecodeError: not JSON.
    """
    if type(text) is not str:
        raise TypeError("json.loads takes a text")
    if options.pop("cls", None) is not None:
        raise TypeError("cls is not available: use object_hook=")
    return json.loads(text, **options)


REPLACED: Final[Mapping[str, object]] = {
    "collections.namedtuple": namedtuple,
    "dataclasses.dataclass": dataclass,
    "dataclasses.fields": fields,
    "json.dumps": dumps,
    "json.loads": loads,
    "typing.NamedTuple": _NamedTuple(),
    "typing.TypedDict": _TypedDict(),
    "typing.final": final,
    "typing.overload": overload,
}
"""What candidates get in place of the original."""


# -- the shared modules --

# Classes written in Python that candidates can name, or get an object of.
_PYTHON_CLASSES: Final[tuple[type, ...]] = (
    collections.ChainMap,
    collections.Counter,
    statistics.NormalDist,
    json.JSONDecodeError,
    *(value for value in vars(collections.abc).values() if isinstance(value, type)),
)


def tame_library() -> None:
    """Change the standard library for the whole process. Doing it again changes nothing."""
    for holder, name in ((statistics.NormalDist, "samples"), (typing.ForwardRef, "_evaluate")):
        if name in vars(holder):
            delattr(holder, name)
    for kind in _PYTHON_CLASSES:
        _bind_methods(kind)
    _guard_enum()
    _guard_typing()
    _guard_statistics()
    _set_time_zone()
    sys.modules[MODULE_NAME] = _home()


def forget() -> None:
    """Empty the caches of ``typing``: what one load wrote into a type must not be what the next one reads."""
    for clear in typing._cleanups:  # type: ignore[attr-defined]  # noqa: SLF001 - the one list of them
        clear()


def _bind_methods(kind: type) -> None:
    for name, value in list(vars(kind).items()):
        if name.startswith("_") or getattr(value, "is_bound_to_class", False):
            continue
        if isinstance(value, types.FunctionType):
            setattr(kind, name, _bound(kind, value))
        elif isinstance(value, property) and not getattr(value.fget, "is_bound_to_class", False):
            setattr(kind, name, property(_bound(kind, value.fget), doc=value.__doc__))


def _bound(kind: type, original: Any) -> Callable[..., object]:
    def method(self: object, /, *arguments: object, **options: object) -> object:
        if kind not in type(self).__mro__:
            raise TypeError(f"this is a method of {kind.__name__}, and its first argument is something else")
        return original(self, *arguments, **options)

    method.__name__ = original.__name__
    method.is_bound_to_class = True  # type: ignore[attr-defined]  # so that a second call changes nothing
    return method


def _guard_enum() -> None:
    """``Enum("Name", names)`` defines class attributes from values: names are checked on a copy, bases are not taken."""
    original = enum.EnumType._create_  # type: ignore[attr-defined]  # not in the stubs
    if getattr(original, "is_guarded", False):
        return

    def _create_(cls: Any, class_name: Any, names: Any, **options: Any) -> Any:
        if options.get("type") is not None:
            raise TypeError("type is not available: a member may hold any value")
        members = _members(names)
        _check_generated(class_name, [member if type(member) is str else member[0] for member in members])
        start = options.get("start", 1)
        return original(cls, class_name, members, module=MODULE_NAME, start=start if type(start) is int else 1)

    _create_.is_guarded = True  # type: ignore[attr-defined]  # so that a second call changes nothing
    enum.EnumType._create_ = _create_  # type: ignore[attr-defined]  # same


def _members(names: Any) -> list[Any]:
    """Names, or pairs of a name and a value, in lists and tuples of our own."""
    if type(names) is str:
        return names.replace(",", " ").split()
    if isinstance(names, dict):
        return [_pair(item) for item in dict.items(names)]
    return [name if type(name) is str else _pair(name) for name in list(names or ())]


def _guard_typing() -> None:
    """Keep ``typing`` from compiling texts and from asking objects, by a protocol, for any attribute that they have."""

    def remember(self: Any, arg: Any, is_argument: bool = True, module: Any = None, *, is_class: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of the original
        if type(arg) is not str or len(arg) > _MAX_FORWARD_REFERENCE:
            raise TypeError("a type in quotes is a short text")
        values = {"arg": arg, "code": None, "evaluated": False, "value": None}
        values |= {"is_argument": is_argument, "is_class": is_class, "module": module}
        for name, value in values.items():
            setattr(self, f"__forward_{name}__", value)

    typing.ForwardRef.__init__ = remember  # type: ignore[method-assign]  # for this process only
    meta = type(typing.Protocol)
    if getattr(meta.__instancecheck__, "is_guarded", False):
        return
    for name in ("__instancecheck__", "__subclasscheck__"):
        setattr(meta, name, _refusing_protocols(getattr(meta, name)))


def _refusing_protocols(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(cls: Any, other: Any) -> bool:
        if cls.__dict__.get("__module__") == MODULE_NAME and cls.__dict__.get("_is_protocol"):
            raise TypeError("a protocol is for annotations: use isinstance with a class")
        return original(cls, other)

    check.is_guarded = True  # type: ignore[attr-defined]  # so that a second call changes nothing
    return check


def _guard_statistics() -> None:
    """Numbers only: what is exact inside, fractions that lead on, is handed to classes of the data otherwise."""
    original: Any = statistics._exact_ratio  # type: ignore[attr-defined]  # noqa: SLF001 - all exact sums pass here
    if getattr(original, "is_guarded", False):
        return

    def exact_ratio(value: object) -> object:
        if not isinstance(value, int | float):
            raise TypeError("statistics takes plain numbers")
        return original(value)

    exact_ratio.is_guarded = True  # type: ignore[attr-defined]  # so that a second call changes nothing
    statistics._exact_ratio = exact_ratio  # type: ignore[attr-defined]  # noqa: SLF001 - same


def _set_time_zone() -> None:
    """The machine's zone would show in stamps without a zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def _home() -> types.ModuleType:
    """The module that ``dataclasses`` looks up by a class's ``__module__``.

    It says what annotations in quotes mean, and is the globals of generated methods: the builtins are those they use.
    """
    home = types.ModuleType(MODULE_NAME)
    home.__dict__.clear()
    home.__dict__.update(
        __name__=MODULE_NAME,
        __builtins__={"type": type, "super": super, "hash": hash, "tuple": tuple, "NotImplemented": NotImplemented},
        typing=typing,  # compared with the real ones
        dataclasses=dataclasses,
        ClassVar=typing.ClassVar,
        InitVar=dataclasses.InitVar,
        KW_ONLY=dataclasses.KW_ONLY,
    )
    return home
