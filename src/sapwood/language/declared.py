"""The declared content of publications: filters are checked against it before they are in force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.schema import Schema

_CONJUNCTIONS_MAX: Final = 64
"""Conjunctions of a filter that are checked against schemas: filters of people have fewer."""

_REASONS_MAX: Final = 3
"""Sentences that are searched: to find the attribute that may be meant takes a while."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Declared kinds of records, and declared documents, each with a name.

    Where no kind of records is declared filters of records are not checked, nor those of documents
    where no documents are.
    """

    records: tuple[Schema, ...] = ()
    documents: tuple[tuple[str, AdvertisedContent], ...] = ()

    def why_never(self, interest: Interest) -> str | None:
        """The reason why no declared content can match, in a sentence; `None` where some may.

        Each conjunction of a filter has to be impossible for every kind of records; the reason is
        that of the kind that comes nearest. An XPath is impossible where no document of a declared
        DTD has the elements that it requires.
        """
        if isinstance(interest, Filter):
            return self._why_no_record(interest) if self.records else None
        if not self.documents or any(one.intersects(interest) for _, one in self.documents):
            return None
        names = ", ".join(name for name, _ in self.documents)
        return f"no document that is declared ({names}) can match it"

    def _why_no_record(self, filter: Filter) -> str | None:
        conjunctions = filter.conjunctions
        if not conjunctions or len(conjunctions) > _CONJUNCTIONS_MAX:
            return None
        reasons: dict[str, None] = {}
        for one in conjunctions:
            nearest, best = self.records[0], (len(one.constraints) + 1, 0)
            for kind in self.records:
                misses = kind.misses(one)
                if not misses[0]:
                    return None
                if misses < best:
                    nearest, best = kind, misses
            if len(reasons) < _REASONS_MAX:
                reasons |= dict.fromkeys(islice(nearest.objections(one), _REASONS_MAX))
        return "no record that is declared can match it: " + "; ".join(reasons)
