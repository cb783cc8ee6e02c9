"""Workloads of documents: expressions in an order, documents, and what is published of them."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sapwood.language.xpath import XPathBounds
from sapwood_lab.benchmarks.documents.generated import (
    EXPRESSIONS_MAX,
    NITF,
    SHAPES,
    generated_documents,
    generated_expressions,
)
from sapwood_lab.benchmarks.documents.valued import with_values

BOUNDS: Final = XPathBounds(descendants=16)
"""Bounds for expressions of the YFilter benchmark that have more `//` than the default allows."""

_DISTINCT: Final = "queries-153928-d.txt.gz"
_WITH_DUPLICATES: Final = "queries-500000.txt.gz"
_DOCUMENTS: Final = "nitf-500-documents.tar.gz"
_NITF: Final = "nitf-2-5.dtd"
_DISTINCT_COUNT: Final = 153_928
_DUPLICATES_COUNT: Final = 500_000
_VALUED_MAX: Final = 1_000_000

_PUBLISHED_DISTINCT: Final = MappingProxyType({10_000: "768.496", 100_000: "3900", 153_928: "5161"})
_PUBLISHED_DUPLICATES: Final = MappingProxyType(
    {10_000: "3378", 100_000: "34095", 500_000: "170416.646"}
)


@dataclass(frozen=True, slots=True)
class Source:
    """A source of expressions and documents.

    `expressions` yields the first ones, `available` of them at most. `published` is what YFilter
    1.0 reports as matches a document, by number of expressions and to as many digits as were
    printed. `reads_content` is true if attributes or texts are tested.
    """

    name: str
    available: int
    expressions: Callable[[int], Iterator[str]]
    documents: Callable[[], Sequence[bytes]]
    published: Mapping[int, str] = field(default_factory=dict)
    reads_content: bool = False

    def sizes(self, wanted: Sequence[int]) -> tuple[int, ...]:
        """The requested sizes, as far as there are expressions."""
        return tuple(sorted({min(size, self.available) for size in wanted}))


def sources(data: Path | None) -> tuple[tuple[Source, ...], dict[str, str]]:
    """The workloads there are, and why others are left out, by name.

    `data` is a folder with the files of the YFilter benchmark, or the DTD of NITF, or both.
    """
    yfilter, left_out = _yfilter(data)
    nitf = None if data is None else data / _NITF
    missing = None
    if nitf is None:
        missing = "no folder with the DTD of NITF was given"
    elif not nitf.is_file():
        missing = f"{data} has no {_NITF}"
    made = []
    for name, (dtd, shape) in SHAPES.items():
        if dtd == NITF and missing is not None:
            left_out[name] = missing
            continue
        made.append(
            Source(
                name,
                EXPRESSIONS_MAX,
                partial(generated_expressions, name, nitf=nitf),
                partial(generated_documents, name, nitf),
                reads_content=shape.value > 0,
            )
        )
    return (*yfilter, *made), left_out


def _yfilter(data: Path | None) -> tuple[tuple[Source, ...], dict[str, str]]:
    """The workloads of the YFilter benchmark, and why they are left out."""
    names = ("yfilter distinct", "yfilter duplicates", "yfilter valued")
    if data is None:
        return (), dict.fromkeys(names, "no folder with the YFilter benchmark was given")
    missing = [
        name for name in (_DISTINCT, _WITH_DUPLICATES, _DOCUMENTS) if not (data / name).is_file()
    ]
    if missing:
        return (), dict.fromkeys(names, f"{data} has no {missing[0]}")
    documents = partial(_archived, data / _DOCUMENTS)
    paths = partial(_lines, data / _DISTINCT)
    return (
        Source(names[0], _DISTINCT_COUNT, paths, documents, _PUBLISHED_DISTINCT),
        Source(
            names[1],
            _DUPLICATES_COUNT,
            partial(_lines, data / _WITH_DUPLICATES),
            documents,
            _PUBLISHED_DUPLICATES,
        ),
        Source(
            names[2],
            _VALUED_MAX,
            lambda count: with_values(tuple(paths(_DISTINCT_COUNT)), documents(), count),
            documents,
            reads_content=True,
        ),
    ), {}


def _lines(path: Path, count: int) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="ascii") as lines:
        yield from islice((line.strip() for line in lines if line.strip()), count)


def _archived(path: Path) -> tuple[bytes, ...]:
    """The XML documents of an archive, in the order of their names."""
    with tarfile.open(path) as archive:
        members = sorted((one for one in archive if one.name.endswith(".xml")), key=_name)
        files = [archive.extractfile(member) for member in members]
        return tuple(file.read() for file in files if file is not None)


def _name(member: tarfile.TarInfo) -> str:
    return member.name
