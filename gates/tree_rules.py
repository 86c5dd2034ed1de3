"""Gate one, last step: the rules about the syntax tree. Each check is a function of a ``Reading`` that yields findings.

The checks allow what is listed in ``gates.allowed`` and refuse the rest. They are about kinds, not about known attacks: a
name is refused for being a name of that kind in any field of any node, an attribute for what it could be on any object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gates import form_rules, name_rules, value_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gates.findings import Finding
    from gates.reading import Reading

    Check = Callable[[Reading], Iterable[Finding]]


CHECKS: Final[tuple[Check, ...]] = (
    form_rules.syntax,
    name_rules.dunder_names,
    name_rules.names,
    name_rules.bindings,
    name_rules.imports,
    name_rules.modules,
    value_rules.attributes,
    value_rules.identity,
    value_rules.injected_values,
    value_rules.stores,
    form_rules.classes,
    form_rules.decorators,
    form_rules.handlers,
    form_rules.literals,
)
"""Every rule about the tree. All of them always run: a candidate gets all its findings at once."""
