"""Which name means what, held against Python's own symbol tables."""

from __future__ import annotations

import ast
import symtable

import pytest
from gate_corpus import benign_files

from gates.scopes import ScopeKind, Scopes


def scopes_of(text):
    return Scopes.of(ast.parse(text))


def reads(text, name):
    """The kind of the scope that each read of ``name`` finds, in source order; None for a builtin."""
    tree = ast.parse(text)
    scopes = Scopes.of(tree)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    found = [scopes.of_node[id(node)].resolve(name) for node in nodes if node.id == name]
    return [home and home.kind for home in found]


M, C, F = ScopeKind.MODULE, ScopeKind.CLASS, ScopeKind.FUNCTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open", [None]),
        ("open = 1\nopen", [M]),
        ("def f(open): return open", [F]),
        ("def f(x=open): pass", [None]),
        ("def f(x: open) -> open: open = 1", [None, None]),
        ("def f():\n open = 1\n return lambda: open", [F]),
        ("class A:\n open = 1\n x = open", [C]),
        ("class A:\n open = 1\n def f(self): return open", [None]),
        ("class A:\n open = 1\n x = [open for i in open]", [None, C]),
        ("x = [open for open in open]", [F, None]),
        ("x = [1 for i in a for open in open]", [F]),
        ("x = [(open := 1) for i in a]; open", [M]),
        ("x = [open for i in a if (open := i)]", [M]),
        ("def f(): return [(open := 1) for i in a], open", [F]),
        ("lambda open=open: open", [None, F]),
        ("def f():\n try: pass\n except E as open: pass\n return open", [F]),
        ("def f():\n import open\n return open", [F]),
        ("def f():\n import open.path\n return open", [F]),
        ("def f():\n for open in x: pass\n return open", [F]),
        ("def f():\n if 0: open = 1\n return open", [F]),
        ("def f():\n del open\n return open", [F]),
        ("def f():\n def open(): pass\n return open", [F]),
        ("def f():\n class open: pass\n return open", [F]),
        ("def f():\n open = 1\n class A:\n  x = open", [F]),
        ("def f():\n open = 1\n class A:\n  open = open", [C]),
        ("def f(*open, **a): return open", [F]),
        ("def f(a, /, *, open): return open", [F]),
        ("@open\ndef open(): pass", [M]),
        ("def f():\n @open\n def g(open): pass", [None]),
    ],
)
def test_reads_find_the_scope_that_python_would_look_in(text, expected):
    assert reads(text, "open") == expected


@pytest.mark.parametrize(("name", "source"), benign_files())
def test_bound_names_are_the_ones_of_pythons_symbol_tables(name, source):
    def tables(table):
        yield table
        for child in table.get_children():
            yield from tables(child)

    theirs = set()
    for table in tables(symtable.symtable(source.text, name, "exec")):
        theirs |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if (symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()) and symbol.get_name() != ".0"
        }
    assert scopes_of(source.text).bound_anywhere() == theirs
