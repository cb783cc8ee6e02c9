"""Explanations why a publication matches an interest of either language, or does not."""

from __future__ import annotations

from dataclasses import replace

from sapwood.language.never import why_never
from sapwood.model import explanation as of_records
from sapwood.model.explanation import Explanation
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns import explanation as of_documents
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication


def explain(interest: Interest, publication: Publication) -> Explanation:
    """The explanation why the publication matches or does not; `note` if no publication can match.

    Raises `DocumentError` and `LimitError` for a document that cannot be read, as matching does.
    """
    if isinstance(interest, Filter):
        found = of_records.explained(interest, publication)
    else:
        assert isinstance(interest, TreePattern), "an interest is of one of two languages"
        found = of_documents.explained(interest, publication)
    never = None if found.matches else why_never(interest)
    return found if never is None else replace(found, note=f"it can never match: {never}")
