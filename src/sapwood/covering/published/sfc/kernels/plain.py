"""The plain twins of `kernels.compiled`: the same results, found the obvious way.

Keys are whole numbers here, made by the definitions in `sapwood.covering.published.sfc.curves`;
searches compare one position after the other and do not use the order of the keys.
"""

from __future__ import annotations

import numpy as np

from sapwood.covering.published.sfc.curves import hilbert_key, z_key
from sapwood.covering.published.sfc.kernels import (
    FIRST,
    LAST,
    WORD_BITS,
    Cells,
    Corner,
    Keys,
    Order,
    Sorted,
    Stack,
    to_key,
    to_words,
)


def z_keys(cells: Cells, bits: int, keys: Keys) -> None:
    """Write the keys of `cells` on the Z curve into the rows of `keys`."""
    for row, cell in enumerate(cells.tolist()):
        keys[row] = to_words(z_key(cell, bits), bits * len(cell))


def hilbert_keys(cells: Cells, bits: int, keys: Keys) -> None:
    """Write the keys of `cells` on Hilbert's curve into the rows of `keys`."""
    for row, cell in enumerate(cells.tolist()):
        keys[row] = to_words(hilbert_key(cell, bits), bits * len(cell))


def position(slots: Sorted, key: Keys, slot: int) -> int:
    """The number of sorted slots before the pair of `key`, one row of words, and `slot`."""
    place = (_whole(key), slot)
    return sum((_whole(slots.keys[other]), other) < place for other in slots.order.tolist())


def walk(  # noqa: PLR0917 - the signature of the compiled twin
    slots: Sorted, corner: Corner, mirror: int, stack: Stack, depth: int, found: Order
) -> tuple[int, int, int]:
    """The next slots whose mirrored cells dominate `corner`: see `compiled.walk`.

    Tries every slot of the stretches on the stack; they are found in another order than there.
    """
    count = steps = 0
    while depth > 0:
        depth -= 1
        for at in range(int(stack[depth, FIRST]), int(stack[depth, LAST])):
            steps += 1
            if bool(np.all(slots.cells[slots.order[at]] ^ np.uint32(mirror) >= corner)):
                if count == len(found):
                    stack[depth, FIRST] = at
                    return count, depth + 1, steps
                found[count] = slots.order[at]
                count += 1
    return count, 0, steps


def _whole(key: Keys) -> int:
    return to_key(key, len(key) * WORD_BITS)
