"""The rate at which patterns come and go while documents are matched."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import Final, NamedTuple

from lxml import etree

from sapwood.language.xpath import parse_xpath
from sapwood.matching.documents.engines import document_engine_info
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.benchmarks.documents.cells import AGREES, SEED, shuffled
from sapwood_lab.benchmarks.documents.sources import BOUNDS, Source
from sapwood_lab.benchmarks.records.cells import settled_heap

SPARE_SHARE: Final = 10
"""One in `SPARE_SHARE` expressions stays out at first, to come in later."""

CHANGES: Final = 10
"""Patterns that leave, and others that come, between two documents."""

CHECKED_EXPRESSIONS: Final = 500


@dataclass(frozen=True, slots=True)
class Updates:
    """Medians, microseconds; `None` where the engine was not filled.

    `match_us` is a document when nothing changes, `changing_us` one after `CHANGES` additions and
    removals, `reading_us` one after as many expressions were read and none was added: what the
    processor has forgotten meanwhile is no cost of the change. `first_us` was the mean when the
    engine knew no document yet.
    """

    workload: str
    engine: str
    expressions: int
    verdict: str
    add_us: float | None = None
    remove_us: float | None = None
    first_us: float | None = None
    match_us: float | None = None
    reading_us: float | None = None
    changing_us: float | None = None


class _Took(NamedTuple):
    """Microseconds of each act under change."""

    add: list[float]
    remove: list[float]
    match: list[float]


def run_updates(
    source: Source, engine: str, size: int, seconds: float, fill_seconds: float
) -> Updates:
    """Match for about `seconds` while patterns leave and others take their slots.

    At the end lxml must agree on some of the expressions that are there.
    """
    texts = list(source.expressions(size))
    Random(SEED).shuffle(texts)  # noqa: S311 - samples, not secrets
    spare = max(1, len(texts) // SPARE_SHARE)
    live, waiting = texts[spare:] or texts[:1], texts[:spare]
    made = document_engine_info(engine).make()
    spent = 0.0
    for slot, text in enumerate(live):
        if spent >= fill_seconds:
            return Updates(source.name, engine, size, f"not filled in {fill_seconds:g} s")
        spent += _timed_add(made, slot, parse_xpath(text, bounds=BOUNDS))
    documents = shuffled(source.documents())
    with settled_heap():
        first = _match_for(made, documents, seconds)
        steady = _match_for(made, documents[: len(first)], seconds)
        reading = _read_for(made, documents[: len(first)], waiting, seconds)
        took = _change_for(made, documents[: len(first)], live, waiting, seconds)
    return Updates(
        source.name,
        engine,
        size,
        _verdict(made, documents[: len(first)][-1], live),
        add_us=statistics.median(took.add),
        remove_us=statistics.median(took.remove),
        first_us=statistics.fmean(first),
        match_us=statistics.median(steady),
        reading_us=statistics.median(reading),
        changing_us=statistics.median(took.match),
    )


def _timed_add(made: DocumentEngine, slot: int, pattern: TreePattern) -> float:
    begin = time.perf_counter()
    made.add(slot, pattern)
    return time.perf_counter() - begin


def _match_for(made: DocumentEngine, documents: list[bytes], seconds: float) -> list[float]:
    """Microseconds of each document, once over them or as far as the time goes."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    for document in documents:
        begin = time.perf_counter()
        made.match_slots([document])
        took.append((time.perf_counter() - begin) * 1e6)
        if time.perf_counter() >= end:
            break
    return took


def _read_for(
    made: DocumentEngine, documents: list[bytes], waiting: list[str], seconds: float
) -> list[float]:
    """Microseconds of each document, each after some expressions were read; once over all."""
    took: list[float] = []
    coming = cycle(waiting)
    end = time.perf_counter() + seconds
    for document in documents:
        for text in islice(coming, CHANGES):
            parse_xpath(text, bounds=BOUNDS)
        took += _match_for(made, [document], seconds)
        if time.perf_counter() >= end:
            break
    return took


def _change_for(
    made: DocumentEngine,
    documents: list[bytes],
    live: list[str],
    waiting: list[str],
    seconds: float,
) -> _Took:
    """Change and match in turn; `live` is what is there at the end."""
    took = _Took([], [], [])
    slots, coming = cycle(range(len(live))), cycle(waiting)
    end = time.perf_counter() + seconds
    for document in cycle(documents):
        for _ in range(CHANGES):
            slot, text = next(slots), next(coming)
            pattern = parse_xpath(text, bounds=BOUNDS)
            begin = time.perf_counter()
            made.remove(slot)
            took.remove.append((time.perf_counter() - begin) * 1e6)
            took.add.append(_timed_add(made, slot, pattern) * 1e6)
            live[slot] = text
        begin = time.perf_counter()
        made.match_slots([document])
        took.match.append((time.perf_counter() - begin) * 1e6)
        if time.perf_counter() >= end:
            break
    return took


def _verdict(made: DocumentEngine, document: bytes, live: list[str]) -> str:
    random = Random(SEED)  # noqa: S311 - likewise
    slots = random.sample(range(len(live)), min(len(live), CHECKED_EXPRESSIONS))
    tree = etree.ElementTree(etree.fromstring(document))
    found = frozenset(made.match(document))
    for slot in slots:
        if bool(tree.xpath(f"boolean({live[slot]})")) is not (slot in found):
            return f"VOID: lxml says otherwise of {live[slot]}"
    return AGREES
