"""Workloads made from the DTDs that come with Sapwood: no data is needed for them.

`news` stands for NITF, deep and recursive; `proteins` for the protein database PSD, shallow and
without recursion. Equal expressions come again, as they do among subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sapwood.model.documents.pattern import TreePattern
from sapwood.workload.documents import XNET, XPE, PatternShape, documents

SEED: Final = 2005
DOCUMENTS: Final = 200
EXPRESSIONS_MAX: Final = 100_000
"""As many expressions as are offered: each takes some hundred microseconds to make."""

SHAPES: Final[Mapping[str, tuple[str, PatternShape]]] = MappingProxyType(
    {
        "news paths": ("news", replace(XPE, distinct=False)),
        "news twigs": ("news", replace(XNET, value=0.3, distinct=False)),
        "proteins paths": ("proteins", replace(XPE, distinct=False)),
    }
)
"""The DTD of each workload, and what its expressions look like."""


def generated_documents(name: str) -> tuple[bytes, ...]:
    """Documents of a workload, some forty elements each."""
    made = documents(SHAPES[name][0]).publications(DOCUMENTS, SEED)
    return tuple(one.document for one in made if one.document is not None)


def generated_expressions(name: str, count: int) -> Iterator[str]:
    """The first expressions of a workload."""
    for subscription in documents(*SHAPES[name]).subscriptions(count, SEED):
        assert isinstance(subscription.filter, TreePattern), "documents are asked for by patterns"
        yield str(subscription.filter)
