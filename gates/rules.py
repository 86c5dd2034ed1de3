"""The rules as data: what each gate refuses, why, and what to write instead.

The documentation and the prompts for language models are made from this table and from the lists in ``gates.allowed``
(``describe_rules``), so that nobody is judged by a rule that nobody can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gates.allowed import (
    ALLOWED_BUILTINS,
    BUS_ATTRIBUTES,
    EXPORTS,
    FROM_ONLY_EXPORTS,
    INJECTED_NAMES,
    MAX_BRACKET_DEPTH,
    MAX_INDENTATION_DEPTH,
    MAX_LINE_CHARACTERS,
    MAX_LOOKBACK_BARS,
    MAX_NAME_CHARACTERS,
    MAX_NODES,
    MAX_NUMBER_CHARACTERS,
    MAX_SOURCE_BYTES,
    MAX_STRING_CHARACTERS,
    MAX_STRING_LINES,
    MAX_TOKENS,
    MAX_TREE_DEPTH,
)
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
        "document",
        1,
        "a document that its compiler refuses",
        "a document is compiled, never repaired",
        "answer the compiler's question, and write the document anew",
    ),
    _rule(
        "document-misfit",
        1,
        "a document that cannot run on the bars that it is given",
        "the run's data and account decide",
        "leave dates and universe out, and write it for these bars",
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
        "do without it: read what you need through public names",
    ),
    _rule(
        "identity",
        1,
        "is between two values of which neither is None, True, False, a member of an enum or a name of the module",
        "whether two equal values are one object depends on where the code runs",
        "compare with ==",
    ),
    _rule(
        "not-repeatable",
        1,
        "now, today and utcnow of anything but self.clock, and random samples",
        "a result that cannot be repeated proves nothing, and the machine's time is not the market's",
        "use self.clock.now() or bar.ts; decide without chance",
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
        "giving an imported module, an injected name, a decorator or an inside of Strategy another meaning",
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
        "unknown-attribute",
        3,
        "reading an attribute that neither the file nor the API gives: of self, of the bar, of a number, of a series",
        "it would fail in every run",
        "use the names of the API, or set the attribute in on_start",
    ),
    _rule(
        "series-as-number",
        3,
        "comparing or computing with a whole series",
        "a series holds many values, and only one of them is now",
        "write series[-1] for the current value",
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
