from __future__ import annotations

from itertools import combinations

from runtime.cage.layers import BONUS, REQUIRED, CageMode, Layer, layers_of, mask_of


def test_masks_name_exactly_their_layers() -> None:
    for pair in combinations(Layer, 2):
        assert layers_of(mask_of(pair)) == pair
    assert mask_of([]) == 0
    assert layers_of(mask_of(Layer) | 1 << 31) == tuple(Layer)


def test_a_full_cage_insists_on_all_but_the_bonus_and_a_reduced_one_on_less() -> None:
    assert REQUIRED[CageMode.FULL] == set(Layer) - BONUS
    assert REQUIRED[CageMode.FULL] - REQUIRED[CageMode.REDUCED] == {Layer.LANDLOCK, Layer.SECCOMP}
