"""What an operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evolution.operators.anatomy import Anatomy


class Operator(Protocol):
    """One way to vary a strategy.

    An operator owns the trees it is given: they are copies, and the first parent's tree becomes the child. It draws
    from the generator only, walks trees in source order, keeps no state, and never raises on a tree that gate one
    has admitted, however odd. It may be used from several threads at once.
    """

    @property
    def name(self) -> str:
        """Stable name; provenance shows it as ``offline/<name>``."""

    @property
    def arity(self) -> int:
        """How many parents it takes: 1 or 2."""

    def vary(self, parents: Sequence[Anatomy], rng: random.Random) -> str | None:
        """Turn the first parent's tree into a child.

        Returns:
            What was changed, in our own words on one line; None when there is nothing here that it could change (the
            tree may then be spoiled, and is thrown away).
        """
