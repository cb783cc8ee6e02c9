"""Many texts in two arrays, and lists of texts that are read from there one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError
from sapwood.matching.sizes import held_bytes, own_bytes
from sapwood.matching.storage import Folder

Offsets: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_ROOM: Final = 64
"""Texts that a column has room for at first."""

_LARGE: Final = 1 << 16
"""Texts that are no longer in the processor's caches as a rule."""

_MANY: Final = 128
"""The number of texts from which on prefetching their memory pays."""

_TOGETHER: Final = 1 << 11
"""Texts whose memory is prefetched at once: few enough to be still in the caches when read."""


def packed(texts: Iterable[bytes]) -> tuple[Offsets, Bytes]:
    """The offset of each text (and the end of the last one), and all texts joined."""
    parts = list(texts)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(parts), np.uint8)


def unpacked(offsets: Offsets, joined: Bytes) -> list[bytes]:
    """The texts that `packed` joined."""
    whole = joined.tobytes()
    ends = offsets.tolist()
    return [whole[start:stop] for start, stop in pairwise(ends)]


_NOTHING: Final = packed(())
"""The content of a new column: an index has several columns, an overlay many indexes."""


class TextColumn(Sequence[str]):
    """A growing list of texts, some of which may still lie in arrays.

    A text is taken out of the arrays when it is first read. Reading from several threads is safe;
    changing is not.

    #: _texts[at] is `None` only where _waiting[at] is set, or beyond the end
    """

    def __init__(self, offsets: Offsets | None = None, joined: Bytes | None = None) -> None:
        if offsets is None or joined is None:
            offsets, joined = _NOTHING
        self._offsets = offsets
        self._joined = joined
        self._size = len(offsets) - 1
        #: an array, because many texts at once are then looked up without a step of Python each,
        #: and the cache misses on their objects overlap
        self._texts: npt.NDArray[np.object_] = np.empty(self._size, np.object_)
        #: true while a text is in the arrays only; as many elements as the arrays have texts
        self._waiting = np.ones(self._size, np.bool_)

    def __len__(self) -> int:
        """The number of texts."""
        return self._size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """The text at a place, or the texts of a slice."""
        if isinstance(at, slice):
            return self.take(np.arange(self._size)[at])
        place = range(self._size)[at]
        text: str | None = self._texts[place]
        return self._taken(place) if text is None else text

    def __setitem__(self, at: int, text: str) -> None:
        """Put a text at a place, or right after the last one."""
        if at == len(self._texts):
            grown = np.full(max(_ROOM, len(self._texts) * 3 // 2), None, np.object_)
            grown[: self._size] = self._texts
            self._texts = grown
        self._texts[at] = text
        if at == self._size:
            self._size += 1
        elif at < len(self._waiting):
            self._waiting[at] = False

    def take(self, places: npt.NDArray[np.integer[Any]]) -> list[str]:
        """The texts at many places."""
        texts: list[str]
        if len(places) < _MANY:
            texts = self._texts.take(places).tolist()
            return self._read(places) if None in texts else texts
        if self._size < _LARGE:
            return self._read(places)
        texts = []
        for first in range(0, len(places), _TOGETHER):
            some = places[first : first + _TOGETHER]
            if _fetch(self._texts, some):
                texts += self._read(some)
            else:
                texts += self._texts.take(some).tolist()
        return texts

    def empty_places(self) -> list[int]:
        """The places of the empty text, ascending; reads no text out of the arrays."""
        is_empty = self._texts[: self._size] == ""
        stored = len(self._waiting)
        is_empty[:stored] |= self._waiting & (np.diff(self._offsets) == 0)
        places: list[int] = np.flatnonzero(is_empty).tolist()
        return places

    def save(self, folder: Folder, name: str) -> None:
        """Write all texts as two arrays whose names begin with `name`."""
        offsets, joined = self.packed()
        folder.write_arrays({f"{name}_offsets": offsets, f"{name}_bytes": joined})

    @classmethod
    def load(cls, folder: Folder, name: str) -> TextColumn:
        """Map the arrays that `save` wrote; raises `FileFormatError` for anything else."""
        names = (f"{name}_offsets", f"{name}_bytes")
        offsets, joined = folder.read_arrays(names).values()
        kinds = (offsets.dtype.name, joined.dtype.name, offsets.ndim, joined.ndim)
        if kinds != ("int64", "uint8", 1, 1):
            raise FileFormatError(folder.place(f"{names[0]}.npy"), "does not begin texts")
        ends = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(joined)
        if not ends or np.any(offsets[1:] < offsets[:-1]):
            raise FileFormatError(
                folder.place(f"{names[1]}.npy"),
                "has other texts than was said; build the index again",
            )
        return cls(offsets, joined)

    def packed(self) -> tuple[Offsets, Bytes]:
        """All texts as arrays; keeps none of those that it reads out of the arrays.

        Another thread may change texts meanwhile, and then has to keep track of the changed ones.
        """
        return packed(map(self._encoded, range(self._size)))

    def memory(self) -> Mapping[str, int]:
        """Bytes by part: the texts, the list of them, and the arrays."""
        texts = self._texts.tolist()
        return {
            "texts": held_bytes(texts) - own_bytes(texts) + self._texts.nbytes,
            "arrays": self._offsets.nbytes + self._joined.nbytes + self._waiting.nbytes,
        }

    def _encoded(self, at: int) -> bytes:
        text: str | None = self._texts[at]
        if text is None:
            return self._joined[self._offsets[at] : self._offsets[at + 1]].tobytes()
        return text.encode("utf-8", "surrogatepass")

    def _read(self, places: npt.NDArray[np.integer[Any]]) -> list[str]:
        """The texts at `places`, taken out of the arrays where they are still there."""
        if len(self._waiting):
            inside = places[places < len(self._waiting)]
            for at in inside[self._waiting[inside]].tolist():
                self._taken(at)
        texts: list[str] = self._texts.take(places).tolist()
        return texts

    def _taken(self, at: int) -> str:
        text = self._texts[at] = self._encoded(at).decode("utf-8", "surrogatepass")
        self._waiting[at] = False
        return text

    def __iter__(self) -> Iterator[str]:
        """All texts in order."""
        return iter(self[:])


def _fetch(objects: npt.NDArray[np.object_], places: npt.NDArray[np.integer[Any]]) -> bool:
    """Prefetch the memory of the objects at many places; true if one of them is `None`."""
    # Imported late: it brings the compiler.
    from sapwood.matching.columnar.kernels.views import prefetch_objects

    wanted = places.astype(np.int64, copy=False)
    return prefetch_objects(objects.ctypes.data, len(objects), wanted, id(None))
