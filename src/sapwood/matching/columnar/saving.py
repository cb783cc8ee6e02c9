"""The files of a saved engine beside its segment: names, and the version of the layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.errors import FileFormatError
from sapwood.matching.columnar import plain_building
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import SLOT_MASK
from sapwood.matching.columnar.derived import Attribute, Derived, Function
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import Patterns
from sapwood.matching.columnar.rows import Ints, RowWriter
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.storage import Array, Folder
from sapwood.model.filter import Filter

LAYOUT: Final = 6
"""The version of the files and of their content: another number for every change."""


class Names(NamedTuple):
    """Attributes and like predicates by number, and `SegmentEntry.mean_candidates`."""

    attributes: Sequence[Attribute]
    predicates: Sequence[tuple[str, str]]
    mean_candidates: float | None


def write(folder: Folder, names: Names, nowhere: Ints, segments: Sequence[Segment]) -> None:
    """Write all files of an engine that has one segment or none."""
    assert len(segments) <= 1, "a saved engine has one segment"
    folder.write_json("layout", {"layout": LAYOUT, "usual": names.mean_candidates})
    folder.write_json("attributes", [_written(name) for name in names.attributes])
    folder.write_json("probes", [list(predicate) for predicate in names.predicates])
    folder.write_arrays({"nowhere": nowhere})
    for segment in segments:
        segment.save(folder.make_folder("segment"))


def save_filters(folder: Folder, filters: Iterable[tuple[int, Filter]]) -> None:
    """Write the files of an engine with these filters, in their order, without any kernel."""
    attributes: dict[Attribute, int] = {}
    predicates = LikePredicates()
    writer = RowWriter(attributes, predicates)
    nowhere: list[int] = []
    for slot, added in filters:
        before = len(writer)
        writer.add(slot, added)
        if len(writer) == before:
            nowhere.append(slot)
    patterns = Patterns(predicates.known(), attributes)
    segments = (
        [build(writer.rows(), len(attributes), plain_building, patterns)] if len(writer) else []
    )
    names = Names(list(attributes), list(predicates.texts()), None)
    write(folder, names, np.array(nowhere, np.int64), segments)


def read_names(folder: Folder) -> Names:
    """Read the names that `write` wrote; raises `FileFormatError` for anything else."""
    mean_candidates = _read_layout(folder)
    names = folder.read_json("attributes")
    if not isinstance(names, list) or not all(map(_is_attribute, names)):
        raise FileFormatError(folder.place("attributes.json"), "is not a list of names")
    pairs = folder.read_json("probes")
    if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
        raise FileFormatError(folder.place("probes.json"), "is not a list of pairs of texts")
    attributes = [name if isinstance(name, str) else _read(*name) for name in names]
    return Names(
        attributes, [(attribute, pattern) for attribute, pattern in pairs], mean_candidates
    )


def check_slots(folder: Folder, nowhere: Array, elsewhere: Sequence[Array]) -> None:
    """Raise `FileFormatError` unless `nowhere` are slots and none is `elsewhere`, too."""
    path = folder.place("nowhere.npy")
    if nowhere.dtype != np.int64 or nowhere.ndim != 1:
        raise FileFormatError(path, "is not a list of slots")
    is_odd = (nowhere < 0) | (nowhere > SLOT_MASK)
    if is_odd.any() or any(np.isin(nowhere, slots).any() for slots in elsewhere):
        raise FileFormatError(path, "has other slots than were left over; build the index again")


def _read_layout(folder: Folder) -> float | None:
    said = folder.read_json("layout")
    number = said.get("layout") if isinstance(said, dict) else None
    if number != LAYOUT:
        raise FileFormatError(
            folder.place("layout.json"),
            f"says layout {number!r}, this program reads {LAYOUT}; build the index again",
        )
    mean_candidates = said.get("usual")
    if mean_candidates is not None and not isinstance(mean_candidates, float):
        raise FileFormatError(folder.place("layout.json"), "does not say what is usual")
    return mean_candidates


def _written(attribute: Attribute) -> str | list[str]:
    """An attribute for JSON: its name, or the function and the base of a derived one."""
    if isinstance(attribute, str):
        return attribute
    return [attribute.function.name.lower(), attribute.attribute]


def _read(function: str, attribute: str) -> Derived:
    return Derived(Function[function.upper()], attribute)


def _is_attribute(value: Any) -> bool:
    return isinstance(value, str) or (_is_pair(value) and value[0].upper() in Function.__members__)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)
