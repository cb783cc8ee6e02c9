"""Workloads made from DTDs: those that come with Sapwood, for which no data is needed, and NITF.

`news` stands for NITF where that is not there, deep and recursive; `proteins` for the protein
database PSD, shallow and without recursion. Equal expressions come again, as they do among
subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import Dtd, read_dtd
from sapwood_lab.workload.documents import XNET, XPE, PatternShape, documents

SEED: Final = 2005
DOCUMENTS: Final = 200
EXPRESSIONS_MAX: Final = 1_000_000
"""As many expressions as are offered: each takes 20 to 50 microseconds to make."""

NITF: Final = "nitf"
"""The DTD that does not come with Sapwood: the News Industry Text Format."""

_PATHS: Final = replace(XPE, distinct=False)
_TWIGS: Final = replace(XNET, value=0.3, distinct=False)

SHAPES: Final[Mapping[str, tuple[str, PatternShape]]] = MappingProxyType(
    {
        "news paths": ("news", _PATHS),
        "news twigs": ("news", _TWIGS),
        "proteins paths": ("proteins", _PATHS),
        "proteins twigs": ("proteins", _TWIGS),
        "nitf paths": (NITF, _PATHS),
        "nitf twigs": (NITF, _TWIGS),
    }
)
"""The DTD of each workload, and what its expressions look like."""


def generated_documents(name: str, nitf: Path | None = None) -> tuple[bytes, ...]:
    """Documents of a workload, some thirty elements each; `nitf` is the file of that DTD."""
    made = documents(_dtd(name, nitf)).publications(DOCUMENTS, SEED)
    return tuple(one.document for one in made if one.document is not None)


def generated_expressions(name: str, count: int, nitf: Path | None = None) -> Iterator[str]:
    """The first expressions of a workload."""
    shape = SHAPES[name][1]
    for subscription in documents(_dtd(name, nitf), shape).subscriptions(count, SEED):
        assert isinstance(subscription.filter, TreePattern), "documents are asked for by patterns"
        yield str(subscription.filter)


def _dtd(name: str, nitf: Path | None) -> str | Dtd:
    """The DTD of a workload, by name if it comes with Sapwood."""
    dtd = SHAPES[name][0]
    if dtd != NITF:
        return dtd
    assert nitf is not None, "workloads of a DTD that is not there are left out"
    return read_dtd(nitf.read_bytes(), root=NITF)
