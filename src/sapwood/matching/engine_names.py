"""The choice of engines of both kinds by one list of names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sapwood.errors import InputError, UnknownNameError
from sapwood.matching.documents.engines import DOCUMENT_ENGINES
from sapwood.matching.engines import ENGINES

_CATALOGUES: Final = (("records", ENGINES), ("documents", DOCUMENT_ENGINES))


class Engines(NamedTuple):
    """The engine for each kind of filters, by name."""

    records: str = "auto"
    documents: str = "auto"


def chosen_engines(names: Iterable[str], default: Engines) -> Engines:
    """The engines that `names` names, and those of `default` for a kind that it does not name.

    A name that both catalogues have chooses both.

    Raises `UnknownNameError` for a name that is in neither catalogue, `InputError` for two engines
    of one kind.
    """
    found: dict[str, str] = {}
    for name in names:
        if name not in ENGINES and name not in DOCUMENT_ENGINES:
            raise UnknownNameError("engine", name, (*ENGINES, *DOCUMENT_ENGINES))
        for kind, catalogue in _CATALOGUES:
            if name in catalogue and found.setdefault(kind, name) != name:
                raise InputError(f"two engines for {kind}, {found[kind]} and {name}; leave one out")
    return default._replace(**found)
