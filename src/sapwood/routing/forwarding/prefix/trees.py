"""The versions of the routing tree at one router, with the filters placed in each.

A version whose parts are all there is read, and then all filters are placed in it, a few at a time:
a number of nodes or filters whenever publications are routed or nothing else is to be done. Until
then older versions, or content, decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sapwood.errors import InputError, InvariantError
from sapwood.limits.prefix import DONE_AT_ONCE, DONE_IN_PLACE_MAX, TREES_KEPT
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.parts import Name, Part, data_of, part_of
from sapwood.routing.forwarding.prefix.reading import Reading
from sapwood.routing.forwarding.prefix.tags import Tags
from sapwood.routing.tables import CLIENTS


class Trees:
    """The newest versions whose parts are all there, with the filters of all sides in each.

    A version is one however often it was published. Parts that make no tree are left alone.

    #: _letters[name][place] are the subscriptions that carry a part, and its letters
    #: _readings and _tags have the newest versions that are whole and, as far as they were read,
    #: right, `limits.TREES_KEPT` at most; no version is in both
    #: every side and filter of _filters is in each of _tags, placed or to be placed
    """

    __slots__ = ("_damaged", "_filters", "_letters", "_readings", "_tags")

    def __init__(self) -> None:
        self._filters: dict[str, dict[str, Filter]] = {CLIENTS: {}}
        self._letters: dict[Name, dict[int, dict[tuple[str, str], str]]] = {}
        self._readings: dict[Name, Reading] = {}
        self._tags: dict[Name, Tags] = {}
        self._damaged: set[Name] = set()

    def __len__(self) -> int:
        """The number of known versions, including those that are not read yet."""
        return len(self._readings) + len(self._tags)

    @property
    def has_left(self) -> bool:
        """True if a version is still to be read, or filters to be placed."""
        return bool(self._readings) or not all(tags.is_ready for tags in self._tags.values())

    @property
    def newest(self) -> Tags | None:
        """The newest version in which all filters are placed."""
        ready = [name for name, tags in self._tags.items() if tags.is_ready]
        return self._tags[max(ready)] if ready else None

    def of(self, version: bytes) -> Tags | None:
        """The version of that name if all filters are placed in it; `None` otherwise."""
        for name, tags in self._tags.items():
            if name.version == version and tags.is_ready:
                return tags
        return None

    def add_side(self, side: str) -> None:
        """Add a neighbor."""
        self._filters[side] = {}
        for tags in self._tags.values():
            tags.add_side(side)

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its filters."""
        for key, wanted in self._filters[side].items():
            self._lose(side, key, part_of(wanted))
        del self._filters[side]
        for tags in self._tags.values():
            tags.remove_side(side)
        self._choose()

    def learned(self, side: str, key: str, wanted: Filter, *, is_one_of_many: bool) -> None:
        """Add a filter to a side, alone or with many others."""
        self._filters[side][key] = wanted
        for tags in self._tags.values():
            if tags.is_ready and not is_one_of_many:
                tags.add(side, key, wanted)
            else:
                tags.todo[side, key] = wanted
        part = part_of(wanted)
        if part is not None:
            places = self._letters.setdefault(part.name, {})
            places.setdefault(part.place, {})[side, key] = part.letters
            self._damaged.discard(part.name)
            self._choose()

    def forgot(self, side: str, key: str) -> None:
        """Remove a filter of a side, if it is one of records."""
        wanted = self._filters[side].pop(key, None)
        if wanted is None:
            return
        for tags in self._tags.values():
            tags.remove(side, key, wanted)
        part = part_of(wanted)
        if part is not None:
            self._lose(side, key, part)
            self._choose()

    def filter(self, side: str, key: str) -> Filter:
        """A filter of a side."""
        return self._filters[side][key]

    def advance(self) -> None:
        """Read and place a part of what is left: first the newest version."""
        left = DONE_AT_ONCE
        for name in sorted((*self._readings, *self._tags), reverse=True):
            if left > 0:
                left -= self._advanced(name, left)

    def _advanced(self, name: Name, left: int) -> int:
        """Read or place up to `left` of one version; returns the work done."""
        tags = self._tags.get(name)
        if tags is not None:
            return tags.advance(left)
        reading = self._readings[name]
        try:
            done = reading.advance(left)
        except InputError:
            self._damaged.add(name)
            self._choose()
            return left
        if not reading.left:
            del self._readings[name]
            self._tags[name] = self._made(reading)
        return done

    def _lose(self, side: str, key: str, part: Part | None) -> None:
        if part is None:
            return
        places = self._letters[part.name]
        del places[part.place][side, key]
        if not places[part.place]:
            del places[part.place]
        if not places:
            del self._letters[part.name]
            self._damaged.discard(part.name)

    def _choose(self) -> None:
        """Keep the newest versions that are whole, and begin to read those that have become so."""
        known = self._readings, self._tags
        self._readings, self._tags = {}, {}
        for name in sorted(self._letters, reverse=True):
            if len(self) == TREES_KEPT:
                break
            if len(self._letters[name]) == name.parts and name not in self._damaged:
                self._keep(name, *known)

    def _keep(
        self, name: Name, readings: Mapping[Name, Reading], tags: Mapping[Name, Tags]
    ) -> None:
        """Keep a version with the work done on it; a small one is read and filled at once."""
        if name in tags:
            self._tags[name] = tags[name]
        elif name in readings:
            self._readings[name] = readings[name]
        else:
            places = self._letters[name]
            parts = [next(iter(places[place].values())) for place in range(name.parts)]
            try:
                reading = Reading(data_of(name, parts))
                if reading.left + sum(map(len, self._filters.values())) > DONE_IN_PLACE_MAX:
                    self._readings[name] = reading
                    return
                reading.advance(reading.left)
            except InputError:
                self._damaged.add(name)
                return
            made = self._tags[name] = self._made(reading)
            made.advance(DONE_IN_PLACE_MAX)

    def _made(self, reading: Reading) -> Tags:
        """A version that was read, with all filters to be placed."""
        tags = Tags(reading.snapshot)
        for side in self._filters:
            if side != CLIENTS:
                tags.add_side(side)
        for side, key, wanted in self._every():
            tags.todo[side, key] = wanted
        return tags

    def _every(self) -> Iterator[tuple[str, str, Filter]]:
        for side, filters in self._filters.items():
            for key, wanted in filters.items():
                yield side, key, wanted

    def validate(self, sides: Mapping[str, Mapping[str, Filter]]) -> None:
        """Check the known and placed filters; raises `InvariantError`."""
        if {side: dict(filters) for side, filters in sides.items()} != self._filters:
            raise InvariantError("routing trees are kept of other subscriptions than are known")
        expected: dict[Name, dict[int, dict[tuple[str, str], str]]] = {}
        for side, key, wanted in self._every():
            part = part_of(wanted)
            if part is not None:
                places = expected.setdefault(part.name, {})
                places.setdefault(part.place, {})[side, key] = part.letters
        if expected != self._letters:
            raise InvariantError("the parts of routing trees are not those that came")
        for tags in self._tags.values():
            tags.validate(self._filters)
