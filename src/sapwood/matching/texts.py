"""Many texts in two arrays, and lists of texts that are read from there one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError
from sapwood.matching.sizes import held_bytes
from sapwood.matching.storage import Folder

Offsets: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]


def packed(texts: Iterable[bytes]) -> tuple[Offsets, Bytes]:
    """Where each text begins (and the last one ends), and all texts joined."""
    parts = list(texts)
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(parts), np.uint8)


def unpacked(offsets: Offsets, joined: Bytes) -> list[bytes]:
    """The texts that `packed` was given."""
    whole = joined.tobytes()
    ends = offsets.tolist()
    return [whole[start:stop] for start, stop in pairwise(ends)]


class TextColumn(Sequence[str]):
    """A growing list of texts, some of which may still lie in arrays.

    A text is taken out of the arrays when it is first asked for. Asking from several threads is
    safe; changing is not.
    """

    def __init__(self, offsets: Offsets | None = None, joined: Bytes | None = None) -> None:
        if offsets is None or joined is None:
            offsets, joined = packed(())
        self._offsets = offsets
        self._joined = joined
        #: `None` where the text is still in the arrays
        self._texts: list[str | None] = [None] * (len(offsets) - 1)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._texts)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """The text at a place, or the texts of a slice."""
        if isinstance(at, slice):
            return self.decode(range(len(self))[at])
        text = self._texts[at]
        return self._taken(range(len(self))[at]) if text is None else text

    def __setitem__(self, at: int, text: str) -> None:
        """Put a text at a place, or right after the last one."""
        if at == len(self._texts):
            self._texts.append(text)
        else:
            self._texts[at] = text

    def decode(self, places: Iterable[int]) -> list[str]:
        """The texts at many places."""
        texts = self._texts
        return [text if (text := texts[at]) is not None else self._taken(at) for at in places]

    def empty_places(self) -> list[int]:
        """Where the empty text is, ascending; reads no text out of the arrays."""
        in_arrays = np.diff(self._offsets) == 0
        return [
            at
            for at, text in enumerate(self._texts)
            if (in_arrays[at] if text is None else not text)
        ]

    def save(self, folder: Folder, name: str) -> None:
        """Write all texts as two arrays whose names begin with `name`."""
        offsets, joined = self.packed()
        folder.write_arrays({f"{name}_offsets": offsets, f"{name}_bytes": joined})

    @classmethod
    def load(cls, folder: Folder, name: str) -> TextColumn:
        """Map what `save` wrote; raises `FileFormatError` for anything else."""
        names = (f"{name}_offsets", f"{name}_bytes")
        offsets, joined = folder.read_arrays(names).values()
        kinds = (offsets.dtype.name, joined.dtype.name, offsets.ndim, joined.ndim)
        if kinds != ("int64", "uint8", 1, 1):
            raise FileFormatError(folder.place(f"{names[0]}.npy"), "does not begin texts")
        ends = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(joined)
        if not ends or np.any(offsets[1:] < offsets[:-1]):
            raise FileFormatError(
                folder.place(f"{names[1]}.npy"), "has other texts than was said; save it again"
            )
        return cls(offsets, joined)

    def packed(self) -> tuple[Offsets, Bytes]:
        """All texts as arrays."""
        return packed(text.encode("utf-8", "surrogatepass") for text in self)

    def memory(self) -> Mapping[str, int]:
        """Bytes: of the texts and of the list of them, and of the arrays."""
        return {
            "texts": held_bytes(self._texts),
            "arrays": self._offsets.nbytes + self._joined.nbytes,
        }

    def _taken(self, at: int) -> str:
        encoded = self._joined[self._offsets[at] : self._offsets[at + 1]].tobytes()
        text = self._texts[at] = encoded.decode("utf-8", "surrogatepass")
        return text

    def __iter__(self) -> Iterator[str]:
        """All texts in order."""
        return iter(self.decode(range(len(self))))
