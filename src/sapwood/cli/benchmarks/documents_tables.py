"""Sizes of routing tables (XPE dissemination: figures 1.16 to 1.19, table 1.1).

Sets A and B: distinct XPEs of up to 10 steps of which 90 and 50 % are covered by others. A table
holds the whole set; what covering leaves of it; that merged perfectly (D = 0); and merged with
D = 0.1. A publication is, as in the work, one root-to-leaf path of a document; its cost is the
time to ask every XPE of the table. A *false positive* is a path that the table accepts and the set
does not: it crosses a link, but no client gets it, since those are asked by their own XPEs.

The work had 100,000 XPEs, matched in C++ on hardware of 2003; ratios compare, times do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from sapwood.cli.output import print_table
from sapwood.covering.documents.merging import PathUniverse, PatternMerger
from sapwood.covering.documents.xsearch import XSearchIndex
from sapwood.covering.merging import Told
from sapwood.model.documents.advertisements import advertisement_of, advertisements_of
from sapwood.model.documents.pattern import TreePattern
from sapwood.workload.documents import (
    PatternShape,
    documents,
    shipped_dtd,
    with_covering_rate,
)
from sapwood.xml import Document, read_document
from sapwood.xml.dtd import Dtd

SIZES: Final = (3_000,)
RATES: Final = (0.9, 0.5)
SHAPE: Final = PatternShape(descendant=0.2, wildcard=0.2)
IMPERFECT: Final = 0.1

LOST: Final = "LOST"
"""The verdict where a table refuses a path that the set accepts."""

_SEED: Final = 2008
_DOCUMENTS: Final = 20

_TABLES: Final = ("all", "covering", "perfect", "imperfect")

_PUBLISHED: Final = MappingProxyType(
    {
        (0.9, "all"): (1.0, 13.96),
        (0.9, "covering"): (0.1, 2.15),
        (0.9, "perfect"): (0.1 * 0.87, 1.87),
        (0.9, "imperfect"): (0.1 * 0.67, 1.27),
        (0.5, "all"): (1.0, 14.23),
        (0.5, "covering"): (0.5, 7.47),
        (0.5, "perfect"): (0.5 * 0.87, 6.88),
        (0.5, "imperfect"): (0.5 * 0.67, 6.38),
    }
)
"""Share of the set in the table (L430 and L432, which does not say for which set), and
milliseconds a publication (table 1.1)."""


def run_documents_tables(
    dtd: str | Dtd, sizes: Sequence[int], rates: Sequence[float] = RATES
) -> dict[str, Any]:
    """Measure: a row for each size, covering rate and table, and what the DTD's paths are."""
    known = shipped_dtd(dtd) if isinstance(dtd, str) else dtd
    paths = _publications(known)
    rows = [
        row
        for size in sizes
        for rate in rates
        for row in _rows(known, _xpes(known, size, rate), rate, paths)
    ]
    return {"tables": rows, "advertisements": _advertised(known)}


def _xpes(dtd: Dtd, size: int, rate: float) -> list[TreePattern]:
    drawn = with_covering_rate(documents(dtd, SHAPE), size, rate, _SEED)
    return [one.filter for one in drawn if isinstance(one.filter, TreePattern)]


def _publications(dtd: Dtd) -> list[Document]:
    """The distinct root-to-leaf paths of each document, as documents of one element a level."""
    found: list[Document] = []
    for one in documents(dtd).publications(_DOCUMENTS, _SEED):
        assert one.document is not None, "documents are what is published"
        document = read_document(one.document, content=False)
        above: list[tuple[str, ...]] = []
        for name, parent in zip(document.names, document.parents, strict=True):
            above.append((*above[parent], name) if parent >= 0 else (name,))
        leaves = sorted(set(range(len(document))).difference(document.parents))
        for path in dict.fromkeys(above[leaf] for leaf in leaves):
            found.append(Document(path, tuple(range(-1, len(path) - 1))))  # noqa: PERF401
    return found


def _rows(
    dtd: Dtd, xpes: list[TreePattern], rate: float, paths: Sequence[Document]
) -> list[dict[str, Any]]:
    tables = _tables(PathUniverse(dtd.paths), xpes)
    wanted: list[bool] = []
    rows: list[dict[str, Any]] = []
    for name in _TABLES:
        table = tables[name]
        begin = time.process_time()
        accepted = [sum(one.accepts(path) for one in table) > 0 for path in paths]
        spent = time.process_time() - begin
        wanted = wanted or accepted
        share, published_ms = _PUBLISHED.get((rate, name), (None, None))
        false = sum(got and not due for got, due in zip(accepted, wanted, strict=True))
        lost = any(due and not got for got, due in zip(accepted, wanted, strict=True))
        rows.append(
            {
                "xpes": len(xpes),
                "covering_rate": rate,
                "table": name,
                "size": len(table),
                "share": len(table) / len(xpes),
                "published_share": share,
                "path_ms": spent / len(paths) * 1e3,
                "published_ms": published_ms,
                "false_positives": false / max(1, sum(accepted)),
                "verdict": LOST if lost else "holds",
            }
        )
    return rows


def _tables(universe: PathUniverse, xpes: list[TreePattern]) -> Mapping[str, list[TreePattern]]:
    kept = _maximal(xpes)
    return {
        "all": xpes,
        "covering": kept,
        "perfect": _maximal(_merged(kept, PatternMerger(universe, 0.0))),
        "imperfect": _maximal(_merged(kept, PatternMerger(universe, IMPERFECT))),
    }


def _maximal(xpes: Sequence[TreePattern]) -> list[TreePattern]:
    """Those that no other covers; of several that cover each other the last."""
    index = XSearchIndex()
    for key, pattern in enumerate(xpes):
        index.add(key, pattern)
    for key, pattern in enumerate(xpes):
        index.remove(key)
        if not index.covering(pattern):
            index.add(key, pattern)
    return [pattern for pattern in xpes if not index.cov(pattern, 1)]


def _merged(xpes: Sequence[TreePattern], merger: PatternMerger) -> list[TreePattern]:
    told = {str(key): Told(pattern, (pattern,)) for key, pattern in enumerate(xpes)}
    groups = merger.groups(told)
    gone = {key for group in groups for key in group.keys}
    mergers = [one.interest for one in groups if isinstance(one.interest, TreePattern)]
    return [*mergers, *(pattern for key, pattern in enumerate(xpes) if str(key) not in gone)]


def _advertised(dtd: Dtd) -> dict[str, Any]:
    """What a publisher of the DTD's documents advertises, beside a DTD without recursion."""
    small = shipped_dtd("proteins")
    return {
        "dtd": dtd.root,
        "advertisements": len(advertisements_of(dtd.paths)),
        "times_proteins": len(advertisements_of(dtd.paths)) / len(advertisements_of(small.paths)),
        "published_times": 35,
        "steps": len(advertisement_of(dtd.paths).automaton.names),
    }


_COLUMNS: Final[tuple[tuple[str, str, Callable[[Any], str]], ...]] = (
    ("XPEs", "xpes", "{:,}".format),
    ("covered", "covering_rate", "{:.0%}".format),
    ("table", "table", str),
    ("size", "size", "{:,}".format),
    ("share", "share", "{:.1%}".format),
    ("published", "published_share", lambda share: "-" if share is None else f"{share:.1%}"),
    ("ms a path", "path_ms", "{:.2f}".format),
    ("published", "published_ms", lambda spent: "-" if spent is None else f"{spent:.2f}"),
    ("false positives", "false_positives", "{:.1%}".format),
    ("verdict", "verdict", str),
)


def print_documents_tables(report: Mapping[str, Any]) -> None:
    """Print what `run_documents_tables` returned, beside the published figures."""
    cells = [tuple(show(row[field]) for _, field, show in _COLUMNS) for row in report["tables"]]
    print_table(tuple(heading for heading, _, _ in _COLUMNS), cells)
    figures = report["advertisements"].items()
    print_table(
        ("advertised", "value"),
        [
            (name, f"{value:,.1f}" if isinstance(value, float) else str(value))
            for name, value in figures
        ],
    )
