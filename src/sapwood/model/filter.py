"""Filters of records: a disjunction of conjunctions in normal form, and its algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice, product
from typing import Any, Final, NamedTuple

from sapwood.errors import LimitError
from sapwood.limits import (
    CONJUNCTIONS_MAX,
    COVERING_STEPS_MAX,
    NORMAL_FORM_STEPS_MAX,
)
from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.model import canonical, packing
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.conjunction import EVERY_RECORD, Conjunction, conjunction
from sapwood.model.constraint import ANYTHING
from sapwood.model.interest import Interest
from sapwood.model.publication import ManyValued, Publication, Record, Value, Values, flatten
from sapwood.model.reduction import Allowance

_set: Final = object.__setattr__


class Merge(NamedTuple):
    """The result of a merge; `perfect` means that nothing is accepted that neither accepted."""

    filter: Filter
    perfect: bool


class Filter(Interest):
    """A record filter: it accepts every record that one of its conjunctions accepts.

    `conjunctions` is the normal form (`sapwood.model.canonical`): sorted, none superfluous; `()`
    accepts nothing, one empty conjunction accepts everything. Two filters are equal iff their
    normal forms are. `source` is the text the filter was read from, if it was; it does not count
    in comparisons.

    Make filters with `sapwood.parse_filter` or `from_conjunctions`; the constructor expects a
    normal form.

    A filter is kept as bytes (`sapwood.model.packing`), as conjunctions, or as both: each is made
    from the other on first use. Routers hold a million filters and read few.

    #: _conjunctions or bytes in _normal are there
    #: _normal is None until the bytes are needed, and the conjunctions where there are no bytes
    """

    __slots__ = ("_conjunctions",)

    _conjunctions: tuple[Conjunction, ...] | None

    def __init__(self, conjunctions: tuple[Conjunction, ...], source: str | None = None) -> None:
        super().__init__(None, source)
        _set(self, "_conjunctions", conjunctions)

    @classmethod
    def of_packed(cls, packed: bytes, source: str | None = None) -> Filter:
        """The filter with these bytes (`sapwood.model.packing`)."""
        made = cls.__new__(cls)
        # As `__init__` does; routers make several of every filter.
        _set(made, "_normal", packed)
        _set(made, "_hash", None)
        _set(made, "source", source)
        _set(made, "_conjunctions", None)
        return made

    @property
    def conjunctions(self) -> tuple[Conjunction, ...]:
        """The normal form."""
        known = self._conjunctions
        if known is None:
            assert isinstance(self._normal, bytes), "a filter has conjunctions or bytes"
            known = packing.unpacked(self._normal)
            _set(self, "_conjunctions", known)
        return known

    @property
    def packed(self) -> bytes | None:
        """The normal form as bytes; `None` where it has none (`sapwood.model.packing`)."""
        normal = self._normal
        if normal is None:
            normal = self._key()
        return normal if isinstance(normal, bytes) else None

    @property
    def accepts_nothing(self) -> bool:
        """True if no record is accepted: the normal form has no conjunction left."""
        return self._key() == _NOTHING_KEPT

    def compact(self) -> Filter:
        """An equal filter in little memory: without its source, and as bytes if it has them."""
        normal = self._key()
        if not isinstance(normal, bytes):
            return self if self.source is None else Filter(self.conjunctions)
        if self.source is None and self._conjunctions is None:
            return self
        return Filter.of_packed(normal)

    def _key(self) -> object:
        """The key of comparisons: the bytes, or the conjunctions where there are no bytes."""
        normal = self._normal
        if normal is None:
            normal = packing.packed(self.conjunctions) or self.conjunctions
            _set(self, "_normal", normal)
        return normal

    def __eq__(self, other: object) -> bool:
        """True if the other is a filter with the same normal form."""
        if self is other:
            return True
        if not isinstance(other, Filter):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        """The hash of the normal form."""
        normal = self._normal
        if normal is None:
            normal = self._key()
        # Bytes remember their hash by themselves.
        return hash(normal) if isinstance(normal, bytes) else super().__hash__()

    def __reduce__(self) -> tuple[Callable[..., AdvertisedContent], tuple[object, ...]]:
        """Copies leave cached fields behind."""
        if self.packed is None:
            return Filter, (self.conjunctions, self.source)
        return Filter.of_packed, (self.packed, self.source)

    def __repr__(self) -> str:
        return f"Filter(conjunctions={self.conjunctions!r})"

    @classmethod
    def from_conjunctions(
        cls,
        conjunctions: Iterable[Conjunction],
        source: str | None = None,
        *,
        steps_max: int = NORMAL_FORM_STEPS_MAX,
    ) -> Filter:
        """The filter of any conjunctions, brought into normal form.

        Raises `LimitError` if more than `limits.CONJUNCTIONS_MAX` are left, or if it takes more
        than `steps_max`.
        """
        normal = canonical.canonical(conjunctions, steps_max)
        if len(normal) > CONJUNCTIONS_MAX:
            raise LimitError(
                "CONJUNCTIONS_MAX",
                CONJUNCTIONS_MAX,
                len(normal),
                "the number of conjunctions in the filter's normal form",
            )
        return cls(normal, source)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes the filter reads, sorted."""
        return tuple(sorted({name for c in self.conjunctions for name in c.attributes}))

    @property
    def extent(self) -> tuple[object, ...]:
        """A key that is no greater than that of any filter covered by this one.

        Sorting by it brings whatever covers a filter before it, equal keys aside.
        """
        extents: list[tuple[object, ...]]
        if self._conjunctions is None and isinstance(self._normal, bytes):
            extents = packing.extents(packing.read(self._normal))
        else:
            extents = [conjunction.extent for conjunction in self.conjunctions]
        return min(extents) if extents else (math.inf,)

    def matches(self, publication: Publication | Mapping[str, Any]) -> bool:
        """True if a publication, or a possibly nested record, is accepted.

        A publication without a record is never accepted.

        Raises `InvalidValueError` for a record that no publication may hold.
        """
        if isinstance(publication, Publication):
            return publication.attributes is not None and self.accepts(publication.record)
        return self.accepts(flatten(publication).record)

    def holds_all_of(self, publication: Publication) -> bool:
        """True if every choice of one value of each attribute is accepted, and not only one.

        Where attributes have one value this is `matches`. Complete unless values of more than
        `RECORD_ROWS_MAX` kinds in all would have to be combined; then it returns `False`.
        """
        record = publication.record
        if type(record) is not ManyValued:
            return self.matches(publication)
        if any(one.takes(record) for one in self.conjunctions):
            return True
        kinds = {
            name: self._kinds(name, record[name])
            for name in self.attributes
            if type(record.get(name)) is tuple
        }
        if math.prod(map(len, kinds.values())) > RECORD_ROWS_MAX:
            return False
        return all(
            self.accepts({**record, **dict(zip(kinds, chosen, strict=True))})
            for chosen in product(*kinds.values())
        )

    def _kinds(self, name: str, values: Values) -> list[Value]:
        """One of all values that the same conjunctions accept, of each such kind."""
        constraints = [one.constraint(name) for one in self.conjunctions]
        kinds = {tuple([one.accepts(value) for one in constraints]): value for value in values}
        return [*kinds.values()]

    def accepts(self, record: Record) -> bool:
        """True if a flat record is accepted."""
        for one in self.conjunctions:  # noqa: SIM110 - see `Conjunction.accepts`
            if one.accepts(record):
                return True
        return False

    def covers(self, other: AdvertisedContent) -> bool:
        """True if every record that `other` accepts is accepted here; no tree pattern is covered.

        Never true where a record refutes it. Complete without general `like` patterns, for
        disjunctions within `limits.COVERING_STEPS_MAX`; beyond those bounds it may return `False`
        for a cover.
        """
        if not isinstance(other, Filter):
            return False
        allowance = Allowance(COVERING_STEPS_MAX)
        return all(
            any(own.covers(wanted) for own in self.conjunctions) or self._holds(wanted, allowance)
            for wanted in other.conjunctions
        )

    def covers_within(self, other: Filter, allowance: Allowance) -> bool:
        """`covers` within an allowance that several calls share; `False` once that is spent.

        One step is one comparison of two conjunctions, whatever its result.
        """
        return all(
            allowance.spend(len(self.conjunctions) * (1 + wanted.weight // 16))
            and (
                any(own.covers(wanted) for own in self.conjunctions)
                or self._holds(wanted, allowance)
            )
            for wanted in other.conjunctions
        )

    def _holds(self, wanted: Conjunction, allowance: Allowance) -> bool:
        """True if the conjunctions together surely cover one that none of them covers alone."""
        if len(self.conjunctions) == 1 and not wanted.patterns:
            return False
        return canonical.held_by(wanted, self.conjunctions, allowance)

    def intersects(self, other: Interest) -> bool:
        """True if some record may be accepted by both; none is accepted by a tree pattern.

        By the same values, that is: `x < 2` and `x > 4` do not intersect, although each accepts a
        record with 1 and 5 in an array. Never `False` where a record refutes it; complete without
        general `like` patterns, for up to `limits.COVERING_STEPS_MAX` pairs of conjunctions.
        Otherwise `True` where the answer is unknown.
        """
        if not isinstance(other, Filter):
            return False
        pairs = product(self.conjunctions, other.conjunctions)
        if any(a.intersects(b) for a, b in islice(pairs, COVERING_STEPS_MAX)):
            return True
        return len(self.conjunctions) * len(other.conjunctions) > COVERING_STEPS_MAX

    def intersection(self, other: Filter, *, steps_max: int = NORMAL_FORM_STEPS_MAX) -> Filter:
        """The filter that accepts what both accept; `NOTHING` where that is surely nothing.

        Where an attribute has several values one of them has to be accepted by both.

        Raises `LimitError` as `from_conjunctions` does.
        """
        pairs = len(self.conjunctions) * len(other.conjunctions)
        if pairs > steps_max:
            subject = "the conjunctions of the intersection of two filters"
            raise LimitError("NORMAL_FORM_STEPS_MAX", steps_max, pairs, subject)
        both = (a.intersect(b) for a, b in product(self.conjunctions, other.conjunctions))
        there = [one for one in both if one is not None]
        return Filter.from_conjunctions(there, steps_max=steps_max)

    def merge(self, other: Filter) -> Merge:
        """One filter, no longer than the longer of the two, that accepts what either accepts.

        The merge is perfect where the union has such a form: one covers the other, or they differ
        in one attribute. Otherwise it is the smallest box around both, attribute by attribute
        (XPE dissemination and XSiena 2.11 call that an imperfect merger): attributes that one of
        the two leaves free are given up.
        """
        both = (*self.conjunctions, *other.conjunctions)
        try:
            union = Filter(canonical.canonical(both))
        except LimitError:
            union = Filter(both)
        if len(union.conjunctions) <= max(len(self.conjunctions), len(other.conjunctions)):
            return Merge(union, perfect=True)
        hull = Filter((_hull(both),))
        return Merge(hull, perfect=union.covers(hull))

    def __str__(self) -> str:
        """The normal form in the filter language; reading it gives an equal filter."""
        if not self.conjunctions:
            return "false"
        return " or ".join(str(conjunction) for conjunction in self.conjunctions)


EVERYTHING: Final = Filter((EVERY_RECORD,))
NOTHING: Final = Filter(())

_NOTHING_KEPT: Final = NOTHING.packed


def _hull(boxes: tuple[Conjunction, ...]) -> Conjunction:
    """The smallest box that holds all of `boxes`, as far as unions have a form."""
    hull = dict(boxes[0].constraints)
    for box in boxes[1:]:
        for name in tuple(hull):
            hull[name] = hull[name].union(box.constraint(name)) or ANYTHING
    whole = conjunction(hull.items())
    assert whole is not None, "a union of satisfiable constraints is satisfiable"
    return whole
