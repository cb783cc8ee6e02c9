"""A filter of the memtable, as it is tried: on what its bytes say, as long as it has some.

Objects are made of a filter where somebody looks at it closely; they take 2 kB, and would stay with
the filter, which is its owner's. Filters of the memtable are looked at often, but not for long.
"""

from __future__ import annotations

from sapwood.model import packing
from sapwood.model.filter import Filter
from sapwood.model.packing import Form
from sapwood.model.publication import Record


class Trial:
    """A filter that is tried on records, and leaves it as it is."""

    __slots__ = ("_attributes", "_form", "filter")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        #: what the bytes say, once it was asked for
        self._form: Form | None = None
        #: the attributes that are read, once it was asked for
        self._attributes: frozenset[str] | None = None

    def reads(self, attribute: str) -> bool:
        """Whether the filter reads an attribute."""
        if self._attributes is None:
            self._attributes = frozenset(self.filter.attributes)
        return attribute in self._attributes

    def form(self) -> Form | None:
        """What the bytes of the filter say; `None` if it has none."""
        packed = self.filter.packed
        if self._form is None and packed is not None:
            self._form = packing.read(packed)
        return self._form

    def accepts(self, record: Record) -> bool:
        """Whether a flat record is accepted."""
        form = self.form()
        return self.filter.accepts(record) if form is None else packing.accepts(form, record)
