"""Gate one: the text of a candidate, judged without running any of it. The only place that parses candidate text.

Three steps, each on ground that the one before has made safe: bytes (``gates.letters``), words (``gates.lexical``), tree
(``gates.tree_rules``). ``scan`` never raises, whatever the bytes are, and takes milliseconds.

What it does not stop: anything that only shows when the code runs (endless loops, memory, values). The cage does.
It is a filter that keeps the cage's work honest and gives an author clear words; it is not the boundary.
"""

from __future__ import annotations

import ast
import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from gates.allowed import MAX_FINDINGS, MAX_NODES, MAX_TREE_DEPTH
from gates.contract import judge_tree, strategy_classes
from gates.findings import Rejected
from gates.letters import decode
from gates.lexical import Words
from gates.reading import Reading, in_source_order
from gates.rules import finding
from gates.tree_rules import CHECKS
from runtime.source import Language, StrategySource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gates.findings import Finding
    from gates.reading import Step

# One grammar for every interpreter that we run on.
_GRAMMAR = (3, 11)

# CPython counts the depth of the tree that it builds in one place for all threads of a process, and where it changes threads in
# between, ends in a SystemError ("recursion depth mismatch", gh-106905). Seen with two candidates at a time on 3.11.7.
_ONE_AT_A_TIME = threading.Lock()

# Whoever makes a text scans it, asks for its hash, and hands it to the door. Trees are large, so only the newest are kept.
_TREES_REMEMBERED = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scanned:
    """A source that gate one lets pass, with its syntax tree."""

    source: StrategySource
    tree: ast.Module
    """Shared: copy it before changing anything."""
    class_name: str
    """The one strategy class at the top level; empty when gate three will refuse the source."""


def scan(source: StrategySource) -> Scanned | Rejected:
    """Gate one.

    Example:
        >>> verdict = scan(StrategySource(b"import os"))
        >>> verdict.reason
        'gate 1: import of os at line 1'
    """
    if source.language is not Language.PYTHON:
        message = f"a source in {source.language.value}, and this gate reads Python"
        return _rejected(source, [finding("language", message)])
    decoded = decode(source.data)
    findings = list(decoded.findings)
    if decoded.text is None:
        return _rejected(source, findings)
    words = Words(decoded.text)
    may_be_parsed = words.read()
    findings += words.findings
    if not may_be_parsed:
        return _rejected(source, findings)
    tree = _parse(decoded.text)
    if not isinstance(tree, ast.Module):
        return _rejected(source, [*findings, tree])
    findings += _judge(tree, decoded.text)
    if findings:
        return _rejected(source, findings)
    found = strategy_classes(tree)
    return Scanned(source=source, tree=tree, class_name=found[0].name if len(found) == 1 else "")


@lru_cache(maxsize=_TREES_REMEMBERED)
def scanned_once(source: StrategySource) -> Scanned | Rejected:
    """``scan``, remembered for the sources that were looked at last. Its tree is shared: copy before changing it."""
    return scan(source)


def reparse(source: StrategySource) -> ast.Module:
    """The syntax tree of a source that a ``scan`` has let pass, made anew.

    For the cage, which believes its parent, and for whoever knows the verdict (``gates.admit.judge_text``).

    Raises:
        ValueError, SyntaxError: no scan has let it pass.
    """
    text = decode(source.data).text
    if text is None:
        raise ValueError("a source that no scan has let pass")
    return _tree(text)


def judge_contract(scanned: Scanned) -> Rejected | None:
    """Gate three, as far as the text decides it; None when it has nothing to say."""
    findings = judge_tree(scanned.tree)
    return Rejected(source=scanned.source, gate=3, findings=tuple(findings)) if findings else None


def _parse(text: str) -> ast.Module | Finding:
    try:
        return _tree(text)
    except SyntaxError as error:
        # The parser's own words may quote candidate text: they are short and single-line, and shown escaped.
        message = ascii(error.msg or "invalid syntax")[1:-1][:200]
        return finding("syntax-error", message, line=max(error.lineno or 1, 1), column=max(error.offset or 1, 1))
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        # Not reached by any text we know: the words were counted to keep it so.
        return finding("syntax-error", f"the parser gave up ({type(error).__name__})")


def _tree(text: str) -> ast.Module:
    with _ONE_AT_A_TIME:
        return ast.parse(text, feature_version=_GRAMMAR)


def _judge(tree: ast.Module, text: str) -> list[Finding]:
    steps = list(islice(in_source_order(tree), MAX_NODES + 1))
    size = _too_large(steps)
    if size is not None:
        return [size]
    reading = Reading(tree, text.split("\n"), steps)
    return [found for check in CHECKS for found in check(reading)]


def _too_large(steps: Sequence[Step]) -> Finding | None:
    if len(steps) <= MAX_NODES and max(step.depth for step in steps) <= MAX_TREE_DEPTH:
        return None
    for count, (node, _, depth) in enumerate(steps, start=1):
        if count > MAX_NODES:
            message = f"more than {MAX_NODES} syntax nodes"
        elif depth > MAX_TREE_DEPTH:
            message = f"expressions and blocks nested more than {MAX_TREE_DEPTH} deep"
        else:
            continue
        return finding(
            "too-many-nodes", message, line=getattr(node, "lineno", 1), column=getattr(node, "col_offset", 0) + 1
        )
    return None


def _rejected(source: StrategySource, findings: list[Finding]) -> Rejected:
    unique = dict.fromkeys(sorted(findings, key=lambda found: (found.line, found.column, found.rule)))
    return Rejected(source=source, gate=1, findings=tuple(unique)[:MAX_FINDINGS])
