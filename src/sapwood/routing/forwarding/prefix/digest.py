"""The digest that the first router writes beside a publication: its forwarding tree (XSiena 4.3).

A digest is the mark, the depth to which the tree goes, the version of the routing tree, and the
numbers of the nodes behind the root, ascending, each as the distance to the one before it: seven
bits a byte, the lowest first, the highest bit set where more follow. The depth `WHOLE` marks a tree
that was not cut. The nodes 0, 3 and 203 of the version 0102030405060708, as 3 and 200:

    70  ff  01 02 03 04 05 06 07 08  03  c8 01
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.routing.forwarding.prefix.snapshot import VERSION_BYTES

I64 = npt.NDArray[np.int64]

MARK: Final = 0x70
WHOLE: Final = 255
DEPTH_MAX: Final = WHOLE - 1
HEAD_BYTES: Final = 2 + VERSION_BYTES

_MARKED: Final = bytes((MARK,))
_LAST: Final = 0x80
_NUMBER_BYTES_MAX: Final = 4


class Walks(NamedTuple):
    """The forwarding trees of some publications in one snapshot.

    Publication i has the nodes `nodes[starts[i]:starts[i + 1]]`, ascending, of which the first is
    the root. Of the nodes 0 3 and 0 they are 0 3 0, from 0 2 on to 3.
    """

    nodes: I64
    starts: I64

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Walks:
        """The walks with these nodes."""
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return cls(np.array([node for row in rows for node in row], np.int64), starts)


def is_whole(digest: bytes) -> bool:
    """True if a digest has the mark of this strategy, a head, and no number that breaks off."""
    return digest[:1] == _MARKED and len(digest) >= HEAD_BYTES and _ends(digest)


def _ends(digest: bytes) -> bool:
    return len(digest) == HEAD_BYTES or digest[-1] < _LAST


def head(version: bytes, depth: int) -> bytes:
    """The first bytes of a digest."""
    return bytes((MARK, depth)) + version


def written(head: bytes, nodes: Sequence[int]) -> bytes:
    """The digest with some nodes, ascending from the root on."""
    found = bytearray(head)
    before = 0
    for node in nodes[1:]:
        step, before = node - before, node
        while step >= _LAST:
            found.append(step & (_LAST - 1) | _LAST)
            step >>= 7
        found.append(step)
    return bytes(found)


def read(digests: Sequence[bytes], size: int) -> Walks | None:
    """The walks of whole digests of one version, with `size` nodes; `None` if one is damaged."""
    letters = np.frombuffer(b"".join([one[HEAD_BYTES:] for one in digests]), np.uint8)
    lengths = np.array([len(one) - HEAD_BYTES for one in digests], np.int64)
    ends = np.flatnonzero(letters < _LAST)
    begins = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    sizes = ends - begins + 1
    if len(ends) and int(sizes.max()) > _NUMBER_BYTES_MAX:
        return None
    places = np.arange(len(letters)) - np.repeat(begins, sizes)
    shifted = (letters & (_LAST - 1)).astype(np.int64) << (7 * places)
    steps = np.add.reduceat(shifted, begins) if len(begins) else np.zeros(0, np.int64)
    firsts = np.searchsorted(begins, np.concatenate(([0], lengths.cumsum())))
    counts = np.diff(firsts)
    # The steps of all, each behind a root: the sum before a root is subtracted.
    starts = firsts + np.arange(len(digests) + 1)
    nodes = np.zeros(len(steps) + len(digests), np.int64)
    is_root = np.zeros(len(nodes), np.bool_)
    is_root[starts[:-1]] = True
    nodes[~is_root] = steps
    if (steps <= 0).any():
        return None
    nodes = nodes.cumsum()
    nodes -= np.repeat(nodes[starts[:-1]], counts + 1)
    if int(nodes.max()) >= size:
        return None
    return Walks(nodes, starts)
