"""Objects that Python is about to touch, asked for beforehand, compiled.

To put an object into a list is to count a reference to it, and so to wait for its memory: a tenth
of a microsecond for one of a million that lie anywhere. Asked for together they are waited for
together, and without the interpreter lock. There is no plain twin, as Python cannot ask for memory.
"""

from __future__ import annotations

import numpy as np

from sapwood.matching.columnar.columns import I64
from sapwood.matching.columnar.kernels.views import ask, compiled, words_at


@compiled
def fetch_objects(address: int, size: int, places: I64, nothing: int) -> bool:
    """Ask for the objects at some places of an array of `size` objects that begins at `address`.

    Returns whether one of them is the object at the address `nothing`, or is not there.
    """
    objects = words_at(np.uint64(address))
    found = False
    for place in places:
        if not 0 <= place < size:
            found = True
            continue
        ask(objects[place])
        found |= objects[place] == np.uint64(nothing)
    return found
