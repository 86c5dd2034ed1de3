"""The rules as data: what each gate refuses, why, what to write instead, and the lists of what is allowed.

Everything that is not on a list here is refused. The documentation and the prompts for language models are made from
these tables (``describe_rules``), so that nobody is judged by a rule that nobody can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gates.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One reason for a refusal."""

    id: str
    """Stable: stored with trials, and the key of the documentation."""
    gate: int
    """1 (the text), 2 (loading it) or 3 (the strategy contract)."""
    what: str
    """What is refused, as a clause for people."""
    reason: str
    """Why it is refused."""
    hint: str
    """What to write instead."""


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
MAX_TOKENS: Final = 20_000
MAX_NODES: Final = 20_000
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
        "Annotated", "Any", "Callable", "ClassVar", "Concatenate", "Counter", "DefaultDict", "Deque", "Dict", "Final",
        "FrozenSet", "Generator", "Generic", "Hashable", "Iterable", "Iterator", "List", "Literal", "Mapping",
        "MutableMapping", "MutableSequence", "MutableSet", "NamedTuple", "Never", "NewType", "NoReturn", "Optional",
        "OrderedDict", "ParamSpec", "Protocol", "Reversible", "Self", "Sequence", "Set", "Sized", "SupportsFloat",
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

# --- Attributes -------------------------------------------------------------------------------------------------------

FORBIDDEN_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType({
    "format": "it walks attributes named inside a text",
    "format_map": "it walks attributes named inside a text",
    "mro": "it leads to the base of all classes",
    "obj": "it leads from an error to the engine's objects",
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

ALLOWED_DUNDER_METHODS: Final = frozenset(("__init__", "__post_init__"))

PRIVATE_NAMES_OF_STRATEGY: Final = frozenset(("_ask", "_declaring", "_desk"))
"""What ``Strategy`` keeps for itself on ``self`` (a test keeps this equal to the class)."""

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

# --- The rules --------------------------------------------------------------------------------------------------------


def _rule(id_: str, gate: int, what: str, reason: str, hint: str) -> Rule:
    return Rule(id=id_, gate=gate, what=what, reason=reason, hint=hint)


RULES: Final[tuple[Rule, ...]] = (
    _rule(
        "language",
        1,
        "a source that is not Python",
        "this door is for Python",
        "bring Python, or use the door for documents",
    ),
    _rule(
        "source-too-large",
        1,
        f"more than {MAX_SOURCE_BYTES} bytes",
        "a strategy that long is a data file in disguise",
        "remove tables and dead code",
    ),
    _rule(
        "not-utf8",
        1,
        "bytes that are not UTF-8",
        "readers and Python would disagree on the text",
        "save the file as UTF-8",
    ),
    _rule(
        "byte-order-mark",
        1,
        "a byte order mark",
        "it changes how tools read the file",
        "save the file as UTF-8 without a mark",
    ),
    _rule(
        "encoding-cookie",
        1,
        "an encoding comment in the first two lines",
        "it can make Python read other code than you see",
        "delete the comment: the text is always UTF-8",
    ),
    _rule(
        "forbidden-character",
        1,
        "control, format and invisible characters",
        "they show a reader other code than the one that runs",
        "delete the character, or write it as an escape inside a string",
    ),
    _rule(
        "non-ascii-name",
        1,
        "letters beyond ASCII outside strings and comments",
        "look-alike letters and normalisation hide names",
        "use the letters a-z, digits and underscores",
    ),
    _rule(
        "line-too-long",
        1,
        f"lines over {MAX_LINE_CHARACTERS} characters",
        "what does not fit on a screen is not reviewed",
        "break the line inside brackets",
    ),
    _rule(
        "too-deep",
        1,
        f"more than {MAX_BRACKET_DEPTH} open brackets or {MAX_INDENTATION_DEPTH} blocks",
        "deep nesting kills parsers and hides logic",
        "use variables and small functions",
    ),
    _rule(
        "long-chain",
        1,
        "long chains of operators, calls, lambdas, elif branches or assignments",
        "each link makes the syntax tree deeper, and deep trees kill parsers and compilers",
        "use variables, loops, sum(...) or a dict",
    ),
    _rule(
        "too-many-tokens",
        1,
        f"more than {MAX_TOKENS} words and signs",
        "a strategy that long is a data file in disguise",
        "remove tables and dead code",
    ),
    _rule(
        "number-literal",
        1,
        f"numbers over {MAX_NUMBER_CHARACTERS} characters, or glued to a word",
        "giant numbers kill printers",
        "write a short number, with a space after it",
    ),
    _rule(
        "name-too-long",
        1,
        f"names over {MAX_NAME_CHARACTERS} characters",
        "nobody reads them",
        "use a short name",
    ),
    _rule(
        "invalid-escape",
        1,
        "a backslash escape that Python does not know",
        "its meaning changes between versions",
        r"double the backslash, or write a raw string",
    ),
    _rule(
        "f-string",
        1,
        "f-strings that Python versions read differently, or nested ones",
        "their end depends on the version, and nesting kills parsers",
        "compute the value in a variable first",
    ),
    _rule("syntax-error", 1, "text that is not valid Python 3.11", "it cannot be read", "correct the syntax"),
    _rule(
        "too-many-nodes",
        1,
        f"more than {MAX_NODES} syntax nodes, or {MAX_TREE_DEPTH} levels of them",
        "large trees kill compilers",
        "use loops and small functions",
    ),
    _rule(
        "syntax-not-allowed",
        1,
        "with, match, async, except*, global, nonlocal, @ and newer syntax",
        "only syntax on the list is allowed; these reach attributes or scopes that the rules cannot follow",
        "write it with if, for, while, try, def and class",
    ),
    _rule(
        "dunder-name",
        1,
        "names that start with two underscores (except defining __init__ and __post_init__)",
        "they are the interpreter's hooks, and every known escape goes through one",
        "use an ordinary name",
    ),
    _rule(
        "forbidden-name",
        1,
        "builtins that reflect, run text, open files or swallow kills",
        "they lead out of the sandbox",
        "do without it: read attributes and keys directly",
    ),
    _rule(
        "unknown-name",
        1,
        "names that are neither defined here, imported, injected nor an allowed builtin",
        "they would fail at run time",
        "define the name, or correct its spelling",
    ),
    _rule(
        "private-attribute",
        1,
        "attributes that start with an underscore, except your own ones on self",
        "they are the inside of somebody else's object",
        "use the public attribute, or keep the value on self",
    ),
    _rule(
        "forbidden-attribute",
        1,
        "attributes like format, mro, obj, encode, gi_frame",
        "they lead to frames, classes and codecs",
        "do without it; for text use an f-string",
    ),
    _rule(
        "import-not-allowed",
        1,
        "imports other than math, statistics, collections, dataclasses, typing, enum, json",
        "other modules reach the machine",
        f"use the injected names and {', '.join(EXPORTS)}",
    ),
    _rule(
        "import-form",
        1,
        "star, relative and dotted imports, and imports inside a class",
        "they hide what enters the file",
        "write import MODULE or from MODULE import NAME at the top",
    ),
    _rule(
        "misleading-alias",
        1,
        "an import renamed to another module's name",
        "it tells a reader something untrue",
        "choose another alias",
    ),
    _rule(
        "module-attribute",
        1,
        "names of a module that are not on its list",
        "modules carry other modules inside",
        "use one of the listed names",
    ),
    _rule(
        "module-as-value",
        1,
        "a module anywhere but before a dot",
        "the rules cannot follow it there",
        "write MODULE.NAME where you need it",
    ),
    _rule(
        "rebinding",
        1,
        "giving an imported module, an injected name or a decorator another meaning",
        "a reader and the rules would read other code than the one that runs",
        "choose another name",
    ),
    _rule(
        "injected-as-value",
        1,
        "an engine class used as a plain value",
        "the rules cannot follow it there",
        "call it, use its attributes, or name it in annotations and isinstance",
    ),
    _rule(
        "foreign-store",
        1,
        "changing what is not yours: attributes or items of engine objects, modules and classes",
        "a strategy only asks; everything else is read-only",
        "keep state on self or in your own objects",
    ),
    _rule(
        "bus-attribute",
        1,
        f"anything of the message bus but {' and '.join(sorted(BUS_ATTRIBUTES))}",
        "orders go through submit, where the account checks them",
        "use self.submit, self.buy, self.sell, self.target, or on_fill",
    ),
    _rule(
        "class-base",
        1,
        "base classes beyond the list",
        "they bring behaviour that the rules cannot follow",
        "inherit Strategy, Enum, NamedTuple, an exception, or nothing",
    ),
    _rule(
        "class-keyword",
        1,
        "keywords in a class line",
        "a metaclass runs instead of the class",
        "remove the keyword",
    ),
    _rule(
        "decorator",
        1,
        "decorators beyond property, staticmethod, classmethod, dataclass, unique",
        "a decorator replaces what a reader sees",
        "call the function where you need it",
    ),
    _rule(
        "bare-except",
        1,
        "except without a type",
        "it swallows the end of the run",
        "name the exception, like except ValueError",
    ),
    _rule(
        "string-literal",
        1,
        f"strings over {MAX_STRING_CHARACTERS} characters or {MAX_STRING_LINES} lines that are not docstrings",
        "long texts carry data or code",
        "remove the text, or compute what you need",
    ),
    _rule(
        "does-not-compile",
        2,
        "text that reads as Python but has no meaning, like return outside a function",
        "it cannot be loaded",
        "correct the statement",
    ),
    _rule(
        "load-raises",
        2,
        "a file that raises while it is loaded",
        "nothing can be run",
        "correct the statement",
    ),
    _rule(
        "killed-in-load",
        2,
        "a file that does not finish loading within the limits",
        "the cage ended it",
        "no loops or large values at module level",
    ),
    _rule(
        "one-strategy",
        3,
        "no class, or more than one, that inherits Strategy",
        "one file is one strategy",
        "write exactly one class NAME(Strategy): at the top level",
    ),
    _rule(
        "nested-strategy",
        3,
        "a Strategy class inside a function, a class or a condition",
        "the engine takes the class at the top level",
        "move the class to the top level",
    ),
    _rule(
        "on-bar",
        3,
        "a strategy class without its own on_bar(self, bar)",
        "the engine calls it once per bar",
        "define on_bar(self, bar) in the class",
    ),
    _rule(
        "constructor",
        3,
        "an __init__ that does not take the engine's arguments",
        "the engine passes name, clock, bus, instrument and timeframe by keyword",
        "leave __init__ out, or write def __init__(self, **kwargs): super().__init__(**kwargs)",
    ),
    _rule(
        "loaded-class",
        3,
        "a class that is not what its text says after loading",
        "the engine would run other code than was judged",
        "do not replace the class or its methods",
    ),
    _rule(
        "raises",
        3,
        "a strategy that raises on the smoke bars",
        "it would fail in every run",
        "correct the line, or guard it",
    ),
    _rule(
        "lookback-too-long",
        3,
        f"a declared lookback over {MAX_LOOKBACK_BARS} bars",
        f"the engine has {MAX_LOOKBACK_BARS} bars of warm-up",
        "use shorter windows",
    ),
    _rule(
        "order-flood",
        3,
        "more orders than the cap allows",
        "the engine keeps every order",
        "order only when something changed",
    ),
    _rule(
        "changes-shared",
        3,
        "a strategy that changes the engine's classes or the modules",
        "the next run in the same process would see it",
        "keep state on self",
    ),
    _rule(
        "not-deterministic",
        3,
        "two runs on the same bars that ask for different orders",
        "a result that cannot be repeated proves nothing",
        "remove the source of chance",
    ),
    _rule(
        "killed-in-dry-run",
        3,
        "a strategy that does not finish the smoke bars within the limits",
        "the cage ended it",
        "bound every loop and every list",
    ),
)
"""Every rule, gate by gate, in the order in which a file meets them."""

_BY_ID: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in RULES})


def finding(rule_id: str, message: str, *, line: int = 1, column: int = 1, hint: str | None = None) -> Finding:
    """A finding of one of the rules; the rule's own hint unless there is a better one.

    Raises:
        KeyError: no such rule. The tables and the code that uses them are wrong.
    """
    rule = _BY_ID[rule_id]
    return Finding(gate=rule.gate, rule=rule.id, line=line, column=column, message=message, hint=hint or rule.hint)


def describe_rules() -> str:
    """The rules and the lists as markdown, for the documentation and for prompts.

    >>> describe_rules().splitlines()[0]
    '| gate | rule | refused | because | write instead |'
    """
    rows = [
        "| gate | rule | refused | because | write instead |",
        "|---|---|---|---|---|",
        *(f"| {rule.gate} | `{rule.id}` | {rule.what} | {rule.reason} | {rule.hint} |" for rule in RULES),
        "",
        "Imports, with every name that they give out:",
        "",
        *(f"- `{module}`: {', '.join(sorted(names))}" for module, names in EXPORTS.items()),
        *(f"- `from {module} import ...`: {', '.join(sorted(names))}" for module, names in FROM_ONLY_EXPORTS.items()),
        "",
        f"Injected: {', '.join(sorted(INJECTED_NAMES))}.",
        "",
        f"Builtins: {', '.join(sorted(ALLOWED_BUILTINS))}.",
    ]
    return "\n".join(rows) + "\n"
