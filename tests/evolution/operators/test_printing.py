"""Text is the same on every Python, and every f-string survives."""

from __future__ import annotations

import ast

import pytest

from evolution.operators.printing import UnprintableError, print_tree

F_STRINGS = [
    """f'{a}'""",
    """f"{a['k']}" """,
    '''f"{a['k']!r:>{width}} {{braces}} it's"''',
    """f'''{a["k"]} {b['l']}'''""",
    """f'{a + f"{b}"}'""",
    r"""f'line\nbreak \\ and {a}'""",
    """f'{ {1: 2}[1] }'""",
    """f'{(lambda x: x)(1)}{(1 if a else 2):.2f}'""",
    """f'{a=}{a!s}'""",
    """f'{a:%H:%M}'""",
    """f'ä{a}\u200b'""",
    """'plain' f'{a}' "more" """,
    """f''""",
]


@pytest.mark.parametrize("text", F_STRINGS)
def test_an_f_string_reads_back_as_it_was(text: str) -> None:
    tree = ast.parse(text.strip(), mode="eval")
    again = ast.parse(print_tree(tree), mode="eval")
    assert ast.dump(again) == ast.dump(tree)


@pytest.mark.parametrize("text", F_STRINGS)
def test_no_brace_reuses_the_quotes_around_it(text: str) -> None:
    """Gate one reads Python 3.11, where that ends the string."""
    ast.parse(print_tree(ast.parse(text.strip(), mode="eval")), mode="eval", feature_version=(3, 11))
    printed = print_tree(ast.parse("""f"{a['k']}" """.strip(), mode="eval"))
    assert printed == """f"{a['k']}\""""


def test_a_name_like_ours_is_not_mixed_up() -> None:
    tree = ast.parse("f_string_gap_0_ = f'{f_string_gap_0_}' + 'f_string_gap_1_'")
    assert ast.dump(ast.parse(print_tree(tree))) == ast.dump(tree)


def test_printing_leaves_the_tree_alone() -> None:
    tree = ast.parse("x = f'{a}'")
    before = ast.dump(tree)
    print_tree(tree)
    assert ast.dump(tree) == before


@pytest.mark.parametrize("inside", ["\n", "'\"\\"])
def test_what_only_newer_pythons_can_write_is_said_so(inside: str) -> None:
    tree = ast.Expression(ast.JoinedStr([ast.FormattedValue(ast.Constant(inside), -1)]))
    with pytest.raises(UnprintableError):
        print_tree(tree)
