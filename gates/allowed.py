"""What is allowed, as data: limits on a text, syntax, names, imports, attributes, bases and decorators.

Everything that is not on a list here is refused by ``gates.letters``, ``gates.lexical`` and ``gates.tree_rules``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# --- Limits -----------------------------------------------------------------------------------------------------------
# Every recursive part of CPython 3.11 to 3.13 (parser, tree conversion, compiler, unparser) was measured to survive these
# together; ordinary strategies stay far below them (the largest benign test file uses about a fifth of each).

MAX_SOURCE_BYTES: Final = 64 * 1024
MAX_LINE_CHARACTERS: Final = 400
MAX_BRACKET_DEPTH: Final = 16
MAX_INDENTATION_DEPTH: Final = 16
# A step of indentation is a few columns; more than this only hides code to the right of the screen.
MAX_INDENTATION_COLUMNS: Final = 120
# Operators (also `not`, `if ... else`, `for`) between two separators: each makes the tree one level deeper.
MAX_CHAIN_OPERATORS: Final = 40
# Dots, calls and subscripts in a row, like `a.b(c)[d]`.
MAX_CHAIN_TRAILERS: Final = 24
MAX_NESTED_LAMBDAS: Final = 12
MAX_ELIF_BRANCHES: Final = 32
MAX_CHAINED_ASSIGNMENTS: Final = 12
MAX_FSTRING_DEPTH: Final = 2
# An integer of thousands of digits dies in printers (`int` to `str` is quadratic and capped at 4300 digits).
MAX_NUMBER_CHARACTERS: Final = 40
MAX_NAME_CHARACTERS: Final = 80
MAX_TOKENS: Final = 12_000
MAX_NODES: Final = 12_000
# `ast.unparse` uses about six interpreter frames per level, and the limit is 1000 for everybody on the stack.
MAX_TREE_DEPTH: Final = 64
MAX_STRING_CHARACTERS: Final = 1_000
MAX_STRING_LINES: Final = 20
# A rejection is read by people and pasted into prompts; beyond this many findings nobody gains from one more.
MAX_FINDINGS: Final = 100
# The engine feeds at most this many bars before the first tradable one.
MAX_LOOKBACK_BARS: Final = 250

# --- Imports ----------------------------------------------------------------------------------------------------------

# fmt: off
EXPORTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "math": frozenset((
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "comb", "copysign", "cos", "cosh",
        "degrees", "dist", "e", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "factorial", "floor", "fmod", "frexp",
        "fsum", "gamma", "gcd", "hypot", "inf", "isclose", "isfinite", "isinf", "isnan", "isqrt", "lcm", "ldexp",
        "lgamma", "log", "log10", "log1p", "log2", "modf", "nan", "nextafter", "perm", "pi", "pow", "prod", "radians",
        "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "tau", "trunc", "ulp",
    )),
    "statistics": frozenset((
        "NormalDist", "StatisticsError", "correlation", "covariance", "fmean", "geometric_mean", "harmonic_mean",
        "linear_regression", "mean", "median", "median_grouped", "median_high", "median_low", "mode", "multimode",
        "pstdev", "pvariance", "quantiles", "stdev", "variance",
    )),
    "collections": frozenset(("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque", "namedtuple")),
    "dataclasses": frozenset((
        "FrozenInstanceError", "InitVar", "KW_ONLY", "asdict", "astuple", "dataclass", "field", "fields", "is_dataclass",
        "replace",
    )),
    "typing": frozenset((
        "AbstractSet", "Any", "Callable", "ClassVar", "Collection", "Counter", "DefaultDict", "Deque", "Dict", "Final",
        "FrozenSet", "Generator", "Generic", "Hashable", "Iterable", "Iterator", "List", "Literal", "Mapping",
        "MutableMapping", "MutableSequence", "MutableSet", "NamedTuple", "Never", "NewType", "NoReturn", "NotRequired", "Optional",
        "OrderedDict", "Protocol", "Required", "Reversible", "Self", "Sequence", "Set", "Sized", "SupportsFloat",
        "SupportsIndex", "SupportsInt", "TYPE_CHECKING", "Tuple", "Type", "TypeAlias", "TypeGuard", "TypeVar",
        "TypedDict", "Union", "cast", "final", "overload",
    )),
    "enum": frozenset(("Enum", "Flag", "IntEnum", "IntFlag", "StrEnum", "auto", "unique")),
    "json": frozenset(("JSONDecodeError", "dumps", "loads")),
})
"""The seven modules that may be imported, and every name that they give out. Pure names only: nothing here leads back to
a module, the interpreter or a code generator that takes text."""

FROM_ONLY_EXPORTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    # The abstract types behind `typing`'s old names: what current style asks for in annotations.
    "collections.abc": frozenset((
        "Callable", "Collection", "Container", "Generator", "Hashable", "Iterable", "Iterator", "Mapping",
        "MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Set", "Sized",
    )),
    # A note to the compiler, not a module: annotations stay text, which nothing evaluates.
    "__future__": frozenset(("annotations",)),
})
"""Allowed only as ``from MODULE import NAME``."""

MISLEADING_ALIASES: Final = frozenset((
    "asyncio", "builtins", "codecs", "copy", "ctypes", "datetime", "functools", "gc", "importlib", "inspect", "io",
    "itertools", "logging", "marshal", "multiprocessing", "operator", "os", "pathlib", "pickle", "posix", "random", "re",
    "shutil", "signal", "site", "socket", "string", "struct", "subprocess", "sys", "tempfile", "threading", "time",
    "traceback", "types", "urllib", "warnings", "weakref", "numpy", "np", "pandas", "pd", "talib",
))
"""Names of other modules: an import renamed to one of them tells a reader something untrue."""

# --- Names ------------------------------------------------------------------------------------------------------------

ALLOWED_BUILTINS: Final = frozenset((
    "False", "True", "None", "Ellipsis", "NotImplemented",
    "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "classmethod", "complex",
    "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hex", "int", "isinstance", "issubclass",
    "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow", "print", "property", "range",
    "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod", "str", "sum", "super", "tuple", "zip",
    "ArithmeticError", "AssertionError", "AttributeError", "Exception", "FloatingPointError", "IndexError", "KeyError",
    "LookupError", "MemoryError", "NameError", "NotImplementedError", "OverflowError", "RecursionError", "RuntimeError",
    "StopIteration", "TypeError", "UnboundLocalError", "UnicodeError", "ValueError", "ZeroDivisionError",
))
"""The builtins that gate two hands to a candidate. ``print`` goes to the run's log."""

FORBIDDEN_NAMES: Final = frozenset((
    "BaseException", "BaseExceptionGroup", "ExceptionGroup", "GeneratorExit", "KeyboardInterrupt", "SystemExit",
    "StopAsyncIteration", "aiter", "anext", "breakpoint", "compile", "copyright", "credits", "delattr", "dir", "eval",
    "exec", "exit", "getattr", "globals", "hasattr", "hash", "help", "id", "input", "license", "locals", "memoryview",
    "open", "quit", "reload", "setattr", "type", "vars",
    "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError", "ConnectionAbortedError",
    "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "DeprecationWarning", "EOFError",
    "EncodingWarning", "EnvironmentError", "FileExistsError", "FileNotFoundError", "FutureWarning", "IOError",
    "ImportError", "ImportWarning", "IndentationError", "InterruptedError", "IsADirectoryError", "ModuleNotFoundError",
    "NotADirectoryError", "OSError", "PendingDeprecationWarning", "PermissionError", "ProcessLookupError",
    "PythonFinalizationError", "ReferenceError", "ResourceWarning", "RuntimeWarning", "SyntaxError", "SyntaxWarning",
    "SystemError", "TabError", "TimeoutError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError",
    "UnicodeWarning", "UserWarning", "Warning",
))
"""Builtins that a candidate does not get, whatever the interpreter's version."""

LOCAL_NAMES: Final = frozenset((
    "copyright", "credits", "dir", "exit", "hash", "help", "id", "input", "license", "open", "quit", "reload", "type", "vars",
))
"""Refused builtins whose names are ordinary words: fine as variables of a function (``open = bar.open``), because the
compiler then never looks at the builtin."""

INJECTED_NAMES: Final = frozenset((
    "Bar", "Clock", "Fill", "Instrument", "MessageBus", "Order", "OrderType", "Position", "Side", "Strategy", "Timeframe",
    "crossed_above", "crossed_below", "param",
))
"""What every strategy gets without an import (``runtime.strategy.INJECTED``; a test keeps the two equal)."""

INJECTED_CLASSES: Final = INJECTED_NAMES - {"crossed_above", "crossed_below", "param"}

NAME_HINTS: Final[Mapping[str, str]] = MappingProxyType({
    "getattr": "write the attribute: self.NAME",
    "setattr": "write the assignment: self.NAME = value",
    "delattr": "set the attribute to None",
    "hasattr": "give the attribute a value in __init__ or on_start, and compare that",
    "type": "use isinstance(value, TYPE)",
    "vars": "keep the values in a dict of your own",
    "dir": "name what you need",
    "eval": "write the expression",
    "exec": "write the statements",
    "id": "compare with `is`, or count with bar_count",
    "hash": "use the value itself as a key",
    "open": "there are no files: use self.history and self.indicator",
    "input": "there is nobody to ask: use param(...)",
    "BaseException": "name the exception, like except ValueError",
    "SystemExit": "return instead",
})
"""Better hints than the rule's own."""

NAME_OF_MODULE_HINT: Final = "leave the block out: the engine loads the strategy class itself"
"""For ``__name__``, which is nearly always the guard of a script."""

MODULE_HINTS: Final[Mapping[str, str]] = MappingProxyType({
    "numpy": "use plain numbers, math and statistics, or self.indicator",
    "pandas": "use self.history and self.indicator: bars come one by one",
    "talib": "use self.indicator(NAME, ...), which has the same indicators",
    "random": "decide without chance",
    "datetime": "bar.ts and self.clock.now() are datetimes already: use their attributes and differences",
    "time": "use self.clock.now() or bar.ts",
    "logging": "use self.log(...)",
    "itertools": "write a loop or a comprehension; zip, enumerate and sum are there",
    "functools": "write a method, a loop or a dict on self",
    "operator": "write a lambda",
    "abc": "write a plain base class whose methods raise NotImplementedError",
    "decimal": "use floats, and round(...)",
    "os": "there are no files and no environment: use self.history and self.indicator",
    "sys": "there is no interpreter to reach: use self.log for output",
    "re": "use the methods of str",
    "copy": "use list(...), dict(...) or dataclasses.replace(...)",
    "warnings": "use self.log(...)",
})
"""What to use in place of a module, by its first name."""

# --- Attributes -------------------------------------------------------------------------------------------------------

FORBIDDEN_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType({
    "format": "it walks attributes named inside a text",
    "format_map": "it walks attributes named inside a text",
    "mro": "it leads to the base of all classes",
    "obj": "it leads from an error to the engine's objects",
    "args": "it leads from an error to what caused it",
    "fget": "it takes a property apart",
    "fset": "it takes a property apart",
    "fdel": "it takes a property apart",
    "copy_with": "it makes types from values",
    "object": "it leads from an error to what caused it",
    "encode": "it loads codecs by name",
    "decode": "it loads codecs by name",
    "with_traceback": "tracebacks lead to the engine's frames",
    "register": "it changes types that everybody shares",
    "eval": "it runs text",
    "exec": "it runs text",
    "modules": "it leads to every loaded module",
    "builtins": "it leads to the refused builtins",
})
"""Attributes that are refused on any object, with the reason."""

CLOCK_ATTRIBUTES: Final = frozenset(("now", "today", "utcnow"))
"""Allowed as ``self.clock.now`` only: a bar's stamp would give the machine's own time under these names."""

CHANCE_ATTRIBUTES: Final = frozenset(("samples",))
"""``NormalDist.samples`` draws random numbers. Fine as an attribute of a class of the file."""

STRATEGY_ATTRIBUTES: Final = frozenset((
    "bar_count", "bus", "buy", "cancel", "cash", "clock", "close", "entry_price", "equity", "flat", "history", "indicator",
    "instrument", "log", "long", "name", "need", "on_bar", "on_fill", "on_start", "on_stop", "open_orders", "position",
    "sell", "short", "submit", "target", "timeframe",
))
"""Everything public that a strategy inherits (a test keeps this equal to the class)."""

ATTRIBUTE_HINTS: Final[Mapping[str, str]] = MappingProxyType({
    "is_flat": "use self.flat",
    "is_long": "use self.long",
    "is_short": "use self.short",
    "portfolio": "use self.cash, self.equity and self.position",
    "account": "use self.cash, self.equity and self.position",
    "broker": "use self.buy, self.sell, self.close and self.target",
    "data": "use bar, self.history(n) and self.indicator(...)",
    "bars": "use self.history(n)",
    "bar": "use the argument of on_bar, or self.history(1)[-1]",
    "price": "use bar.close",
    "positions": "use self.position, the signed number of units held",
    "order": "use self.buy, self.sell, self.close, self.target or self.submit",
    "orders": "use self.open_orders",
    "params": "use param(...) in the class body and read self.NAME",
    "symbol": "use self.instrument.symbol",
    "now": "use self.clock.now()",
    "exit": "use self.close()",
    "enter": "use self.buy(...) or self.sell(...)",
    "logger": "use self.log(...)",
})
"""What was meant by attributes that other engines have."""

NUMBERS_OF_STRATEGY: Final = frozenset(("bar_count", "cash", "entry_price", "equity", "flat", "long", "position", "short"))
"""State of a strategy that is a plain number or truth value."""

NUMBER_ATTRIBUTES: Final = frozenset(("as_integer_ratio", "conjugate", "hex", "imag", "is_integer", "real", "bit_length"))

BAR_ATTRIBUTES: Final = frozenset((
    "close", "count", "high", "index", "low", "open", "ts", "volume", *("_asdict", "_fields", "_make", "_replace"),
))

READ_ONLY_STATE: Final = frozenset((
    "bar_count", "cash", "entry_price", "equity", "flat", "long", "open_orders", "position", "short",
))
"""Properties of ``Strategy`` that show the account."""

FORBIDDEN_ATTRIBUTE_PREFIXES: Final = ("tb_", "f_", "gi_", "cr_", "ag_", "co_", "func_", "im_")
"""The interpreter's own views of frames, tracebacks, generators and code. Refused as a family, so that a new member in a
new Python is refused too."""

PRIVATE_ATTRIBUTES: Final = frozenset(("_asdict", "_fields", "_make", "_replace"))
"""The public methods of named tuples, which start with an underscore by the standard library's own choice."""

BUS_ATTRIBUTES: Final = frozenset(("subscribe", "unsubscribe"))
"""What a strategy may use of its message bus. Orders go through ``self.submit``, so there is nothing to publish."""

ENGINE_ATTRIBUTES: Final = frozenset((
    "bus", "cash", "clock", "entry_price", "equity", "flat", "instrument", "long", "name", "open_orders", "portfolio",
    "position", "short", "timeframe",
))
"""Attributes of a strategy that lead to the engine's values: nothing below them may be changed."""

ENGINE_OWN: Final = frozenset(("bus", "clock"))
"""What only ``super().__init__`` may set on self."""

ALLOWED_DUNDER_METHODS: Final = frozenset(("__init__", "__post_init__"))

PRIVATE_NAMES_OF_STRATEGY: Final = frozenset(("_ask", "_declaring", "_desk"))
"""What ``Strategy`` keeps for itself on ``self`` (a test keeps this equal to the class)."""

CLASS_HOOKS: Final = frozenset((
    "_abc_impl", "_abc_registry", "_field_defaults", "_fields", "_is_protocol", "_is_runtime_protocol", "_make", "_replace",
    "_asdict",
))
"""Names by which the standard library asks a class what it is."""

MAX_DECORATORS: Final = 4

UNSHADOWED_NAMES: Final = frozenset(("isinstance", "issubclass", "super"))
"""Builtins that other rules lean on, so that they must keep their meaning."""

DECORATORS: Final = frozenset((
    "classmethod", "dataclasses.dataclass", "enum.unique", "property", "staticmethod", "typing.final", "typing.overload",
))
"""By full name, however it was imported."""

CLASS_BASES: Final = frozenset((
    "Strategy", "object", "dict", "list", "set",
    "collections.Counter", "collections.OrderedDict", "collections.defaultdict", "collections.deque",
    "enum.Enum", "enum.Flag", "enum.IntEnum", "enum.IntFlag", "enum.StrEnum",
    "typing.Generic", "typing.NamedTuple", "typing.Protocol", "typing.TypedDict",
    "ArithmeticError", "AssertionError", "Exception", "IndexError", "KeyError", "LookupError", "RuntimeError", "ValueError",
))
"""What a class may inherit from, by full name, besides classes of the same file. No scalars: an object that says it is a
number but answers differently each time is only good for fooling an engine."""

# --- Syntax -----------------------------------------------------------------------------------------------------------

ALLOWED_NODES: Final = frozenset((
    "Module", "Expr", "Assign", "AugAssign", "AnnAssign", "Delete", "Pass", "Break", "Continue", "If", "For", "While",
    "Try", "ExceptHandler", "Raise", "Assert", "Return", "FunctionDef", "ClassDef", "Import", "ImportFrom", "alias",
    "arguments", "arg", "keyword",
    "Constant", "JoinedStr", "FormattedValue", "Name", "Attribute", "Subscript", "Slice", "Starred", "Call", "Lambda",
    "IfExp", "NamedExpr", "Yield", "YieldFrom", "List", "Tuple", "Set", "Dict", "ListComp", "SetComp", "DictComp",
    "GeneratorExp", "comprehension", "BoolOp", "BinOp", "UnaryOp", "Compare",
    "Load", "Store", "Del", "And", "Or", "Not", "Invert", "UAdd", "USub", "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod",
    "Pow", "LShift", "RShift", "BitAnd", "BitOr", "BitXor", "Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In",
    "NotIn",
))
"""Node types of ``ast``. What a later Python adds is refused until somebody has thought about it."""

NODE_HINTS: Final[Mapping[str, str]] = MappingProxyType({
    "Match": "write if and elif",
    "With": "nothing here needs to be closed: drop the with statement",
    "AsyncWith": "the engine is synchronous: write plain statements",
    "AsyncFor": "the engine is synchronous: write a plain for loop",
    "AsyncFunctionDef": "the engine is synchronous: write a plain def",
    "Await": "the engine is synchronous: call the function",
    "TryStar": "write a plain except",
    "Global": "keep state on self",
    "Nonlocal": "keep state on self, or in a list or dict",
    "MatMult": "there are no matrices here: write sum(a * b for a, b in zip(...))",
})
# fmt: on
