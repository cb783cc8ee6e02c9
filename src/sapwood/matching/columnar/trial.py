"""A filter of the memtable in the form in which it is tried: its packed bytes if it has them.

Objects are made of a filter where its constraints are inspected; they take 2 kB, and would stay
with the filter, which belongs to its owner. Filters of the memtable are tried often, but not for
long.
"""

from __future__ import annotations

from sapwood.matching.columnar.several_values import SortedRecord
from sapwood.model import packing
from sapwood.model.filter import Filter
from sapwood.model.packing import Form
from sapwood.model.publication import Record


class Trial:
    """A filter that is tried on records without being changed."""

    __slots__ = ("_attributes", "_form", "filter")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        #: the form of the packed bytes, once it was needed
        self._form: Form | None = None
        #: the attributes that the filter reads, once they were needed
        self._attributes: frozenset[str] | None = None

    def reads(self, attribute: str) -> bool:
        """True if the filter reads an attribute."""
        if self._attributes is None:
            self._attributes = frozenset(self.filter.attributes)
        return attribute in self._attributes

    def form(self) -> Form | None:
        """The form that the packed bytes of the filter hold; `None` if it has none."""
        packed = self.filter.packed
        if self._form is None and packed is not None:
            self._form = packing.read(packed)
        return self._form

    def accepts(self, record: Record) -> bool:
        """True if the filter accepts a flat record."""
        form = self.form()
        return self.filter.accepts(record) if form is None else packing.accepts(form, record)

    def accepts_several(self, given: SortedRecord) -> bool:
        """True if a record whose attributes may have several values is accepted."""
        form = self.form()
        if form is None:
            return self.filter.accepts(given.record)
        return any(all(map(given.meets, part)) for part in form)
