"""What stands beside a candidate's code while it runs: the checks that ``gates.weave`` compiles in, and stable texts.

The names of the checks cannot be written in Python (``<own>``), so no candidate can call, replace or shadow them.

Two kinds of things are kept from a candidate here. Objects that are not its own: any function can be called with any
first argument, so "this is self" is only true when somebody looks. And memory addresses: they differ from process to
process, so a text that shows one is a source of chance, and an order of objects by address is another.
"""

from __future__ import annotations

import builtins
import itertools
import re
import statistics
import sys
import typing
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MODULE_NAME: Final = "candidate"
"""What a candidate's classes say that they come from. Nothing else in the process says so."""

OWN: Final = "<own>"
"""Gives its argument back if it is an object or a class of the file."""
OWN_INSTANCE: Final = "<own instance>"
"""Raises unless its argument is such an object, and no text: what texts have by themselves is refused under the same names."""
TIMELESS: Final = "<timeless>"
"""Gives its argument back unless that could tell the machine's time, or draw by chance."""
SURVIVABLE: Final = "<survivable>"
"""Raises again what a candidate must not live on with: how deep and how large it may grow tells it where it runs."""
SHOWN: Final = "<shown>"
"""Gives something in place of its argument that shows no address when it becomes part of a text."""
SHOWN_OPERAND: Final = "<shown operand>"
"""The same for what stands right of ``%``."""
SHOWN_EACH: Final = "<shown each>"
"""The same for the values of ``*arguments`` and ``**arguments``."""

# Their texts hold no address; bool, int and float first, since nearly everything that is shown is a number.
_PLAIN: Final = frozenset((float, int, bool, str, type(None), complex, datetime, date, time, timedelta))
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_SERIAL: Final = "<serial>"


def own(value: Any) -> Any:
    """Let an object of a class of the file pass, or such a class.

    Raises:
        TypeError: it is something else, whatever the text around it says.
    """
    kind = type(value)
    if kind.__dict__.get("__module__") == MODULE_NAME:
        return value
    if issubclass(kind, type) and type.__getattribute__(value, "__dict__").get("__module__") == MODULE_NAME:
        return value
    raise TypeError("this is not an object of a class of the file")


def own_instance(value: Any) -> None:
    """Let ``self`` pass if it is an object of a class of the file.

    Raises:
        TypeError: the method was called with something else.
    """
    # Members of a StrEnum are texts, with a ``format`` of their own that reads any attribute of anything.
    if type(value).__dict__.get("__module__") != MODULE_NAME or isinstance(value, builtins.str):
        raise TypeError("self is not an object of a class of the file, or is a text")


def timeless(value: Any) -> Any:
    """Let anything pass that has no clock and no chance of its own; the clock that strategies are given tells the bar's time.

    Raises:
        TypeError: a date, a distribution, or the class of one.
    """
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, date | statistics.NormalDist):
        raise TypeError("this would tell the machine's time, or draw by chance: use self.clock.now() or bar.ts")
    return value


def survivable() -> None:
    """Stand at the head of every ``except`` and ``finally`` block.

    Raises:
        RecursionError, MemoryError: the one that has led there.
    """
    error = sys.exception()
    if isinstance(error, RecursionError | MemoryError):
        raise error


# -- texts --


def without_addresses(text: str) -> str:
    """Cut the addresses out of a text that ``repr`` has made.

    >>> without_addresses("<function f at 0x7f0000000000>")
    '<function f>'
    """
    return _ADDRESS.sub("", text) if " at 0x" in text else text


class _Shown:
    """Stands for an object inside ``%`` and ``format``: the same texts, without addresses."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __str__(self) -> str:
        return without_addresses(builtins.str(self._value))

    def __repr__(self) -> str:
        return without_addresses(builtins.repr(self._value))

    def __format__(self, spec: str) -> str:
        return without_addresses(builtins.format(self._value, spec))


def shown(value: Any) -> Any:
    """What to put into a text in place of ``value``: plain values themselves, of anything else a stand-in."""
    # Numbers of other kinds (members of an IntEnum) must stay numbers for `%d`; their texts are names and digits.
    return value if type(value) in _PLAIN or isinstance(value, int | float) else _Shown(value)


def shown_operand(value: Any) -> Any:
    """``shown`` for what stands right of ``%``: there a tuple or a mapping is many values."""
    if type(value) in _PLAIN:
        return value
    return shown_each(value) if isinstance(value, tuple | dict) else shown(value)


def shown_each(values: Any) -> Any:
    """``shown`` for every value of a mapping or an iterable of arguments."""
    if isinstance(values, dict):
        return {key: shown(value) for key, value in values.items()}
    return tuple(map(shown, values))


def _represent(value: object) -> str:
    return without_addresses(builtins.repr(value))


def _escape(value: object) -> str:
    return without_addresses(builtins.ascii(value))


def _format(value: object, spec: str = "", /) -> str:
    return without_addresses(builtins.format(value, spec))


class _TextType(type):
    """Makes ``str`` of a candidate be ``str`` in every way, except that a text from an object shows no address."""

    def __call__(cls, *arguments: Any, **options: Any) -> str:
        return without_addresses(builtins.str(*arguments, **options))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.str)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, builtins.str)

    def __repr__(cls) -> str:
        return "<class 'str'>"

    def __setattr__(cls, name: str, value: object) -> None:
        raise TypeError("cannot set attributes of str")


Text: Final = _TextType("str", (str,), {"__module__": "builtins", "__slots__": ()})
"""What a candidate knows as ``str``."""

GUARDED_BUILTINS: Final[Mapping[str, object]] = {
    "str": Text,
    "repr": _represent,
    "ascii": _escape,
    "format": _format,
    OWN: own,
    OWN_INSTANCE: own_instance,
    TIMELESS: timeless,
    SURVIVABLE: survivable,
    SHOWN: shown,
    SHOWN_OPERAND: shown_operand,
    SHOWN_EACH: shown_each,
}
"""What stands in the builtins of a load instead of, and besides, the interpreter's own."""


# -- objects of the file --

_serials = itertools.count(1)


def restart_serials() -> None:
    """Begin to count objects anew, so that a load does not depend on the loads before it."""
    global _serials  # noqa: PLW0603 - one counter per process, because hashes are asked for without a word of whose
    _serials = itertools.count(1)


class Instance:
    """What classes of the file inherit in place of ``object``: their texts and their order in sets know no address."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object>"

    def __hash__(self) -> int:
        """A number by order of first use. The objects are compared by identity, as ever."""
        try:
            held = self.__dict__
        except AttributeError:  # a class with slots
            return object.__hash__(self)
        serial: int | None = held.get(_SERIAL)
        if serial is None:
            serial = held[_SERIAL] = next(_serials)
        return serial


def build_class(function: Callable[[], object], name: str, *bases: object, **options: Any) -> object:
    """The ``__build_class__`` of candidates."""
    kept = tuple(base for base in bases if base is not object)
    if not kept or any(getattr(base, "__origin__", None) is typing.Generic for base in kept):
        kept = (*kept, Instance)
    return builtins.__build_class__(function, name, *kept, **options)
