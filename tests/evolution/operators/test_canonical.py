"""Duplicates are recognised by structure, on every Python the same, and different strategies never share a hash."""

from __future__ import annotations

import ast
from io import StringIO
from tokenize import COMMENT, generate_tokens

import pytest

from evolution.operators import canonical_hash, canonical_text
from evolution.operators.anatomy import clone
from evolution.operators.canonical import shape
from gates.scan import Scanned, scan
from runtime.source import Language, StrategySource

PLAIN = """\
class S(Strategy):
    def on_bar(self, bar):
        if self.flat and bar.close > 10:
            self.buy()
"""

SAME = {
    "comments": PLAIN.replace("self.buy()", "self.buy()  # all in"),
    "spacing": PLAIN.replace("bar.close > 10", "(bar.close>10)"),
    "docstring of the class": PLAIN.replace("    def", '    """Buys once."""\n\n    def', 1),
    "docstring of the method": PLAIN.replace("        if", '        """Decides."""\n        if'),
    "docstring of the file": '"""A file."""\n' + PLAIN,
    "class name": PLAIN.replace("class S(", "class Other("),
}

DIFFERENT = {
    "a constant": PLAIN.replace("10", "11"),
    "the kind of a number": PLAIN.replace("10", "10.0"),
    "a comparison": PLAIN.replace(">", ">="),
    "a name": PLAIN.replace("close", "high"),
    "an added keyword": PLAIN.replace("buy()", "buy(tag='x')"),
    "None for a missing value": PLAIN.replace("buy()", "buy(None)"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_cannot_change_behaviour_does_not_change_the_hash(text: str) -> None:
    assert canonical_hash(StrategySource.from_text(text)) == canonical_hash(StrategySource.from_text(PLAIN))


def test_everything_else_does() -> None:
    hashes = {canonical_hash(StrategySource.from_text(text)) for text in [PLAIN, *DIFFERENT.values()]}
    assert len(hashes) == len(DIFFERENT) + 1


def test_a_class_named_like_its_indicator_is_not_mixed_up_with_it() -> None:
    """Only the name of the class is normalised, not every text that happens to equal it."""
    template = "class {0}(Strategy):\n def on_start(self):\n  self.a = self.indicator('{0}')\n def on_bar(self, bar):\n  pass\n"
    hashes = {canonical_hash(StrategySource.from_text(template.format(name))) for name in ("SMA", "EMA")}
    assert len(hashes) == 2


def test_the_hash_is_the_same_on_every_python() -> None:
    """It is stored for ever: a changed value here would make all earlier nights forget what they tried."""
    assert canonical_hash(StrategySource.from_text(PLAIN)).startswith("23cf64e5ac7b421c")


def test_a_refused_source_is_known_by_its_bytes() -> None:
    broken, copy, other = (StrategySource(data) for data in (b"import os", b"import os", b"import  os"))
    assert canonical_hash(broken) == canonical_hash(copy) != canonical_hash(other)


def test_a_document_in_another_language_is_known_by_its_bytes() -> None:
    document, spaced = (StrategySource(data, Language.SIR) for data in (b"{}", b"{ }"))
    assert canonical_hash(document) != canonical_hash(spaced)


def test_canonical_text_has_the_same_hash_and_nothing_to_read_between_the_lines(
    seeds: list[StrategySource], free_form: list[StrategySource]
) -> None:
    for source in [*seeds, *free_form]:
        text = canonical_text(source)
        assert canonical_hash(StrategySource.from_text(text)) == canonical_hash(source)
        assert not [token for token in generate_tokens(StringIO(text).readline) if token.type == COMMENT]
        assert '"""' not in text


def test_nothing_is_unparsed_before_gate_one() -> None:
    with pytest.raises(ValueError, match="import of os"):
        canonical_text(StrategySource(b"import os"))


def test_hashing_leaves_the_scanned_tree_alone(seeds: list[StrategySource]) -> None:
    scanned = scan(seeds[0])
    assert isinstance(scanned, Scanned)
    before = ast.dump(scanned.tree, include_attributes=True)
    canonical_hash(seeds[0])
    canonical_text(seeds[0])
    assert ast.dump(scanned.tree, include_attributes=True) == before


def test_a_clone_is_equal_and_shares_no_node(free_form: list[StrategySource]) -> None:
    for source in free_form:
        scanned = scan(source)
        assert isinstance(scanned, Scanned)
        twin = clone(scanned.tree)
        assert shape(twin) == shape(scanned.tree)
        # The nodes of contexts and operators carry nothing, and the parser itself shares them.
        own = {id(node) for node in ast.walk(scanned.tree) if node._fields}
        assert not any(id(node) in own for node in ast.walk(twin))
