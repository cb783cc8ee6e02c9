"""Matching rates of engines at growing numbers of expressions, parsing included."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Final

from lxml import etree

from sapwood.xml import read_document
from sapwood_lab.benchmarks.documents.contenders import Contender, contender
from sapwood_lab.benchmarks.documents.sources import Source
from sapwood_lab.benchmarks.records.cells import settled_heap
from sapwood_lab.benchmarks.records.filling import Filling

AUTOMATON: Final = "path-automaton"
"""The engine that the others are compared with."""

AGREES: Final = "agrees"
PASSES: Final = 5
"""The number of passes over the documents after the first one, where the budget allows."""

CHECKED_DOCUMENTS: Final = 4
CHECKED_EXPRESSIONS: Final = 500
SEED: Final = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """The engines and sizes to measure for each source, and for how long.

    `seconds` is about how long a cell matches after its first pass, which may take as long again;
    `fill_seconds` what an engine may take in all to add its expressions before it is given up.
    """

    sizes: tuple[int, ...]
    engines: tuple[str, ...]
    seconds: float
    fill_seconds: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One engine at one size. Figures are `None` where the engine was not filled.

    Microseconds a document, parsing included, are means over the documents of the median of each;
    `cpu_us` is what the processor was busy with. `first_us` is the first pass, when engines learn
    and compile, `first_max_us` its slowest document. `parse_us` is the document's reading alone,
    `tree_us` what the parser takes of that. `times_automaton` compares with the default engine on
    the documents that both have seen, `documents` of them.
    """

    workload: str
    engine: str
    expressions: int
    added: int
    verdict: str
    add_us: float
    documents: int = 0
    match_us: float | None = None
    cpu_us: float | None = None
    first_us: float | None = None
    first_max_us: float | None = None
    parse_us: float | None = None
    tree_us: float | None = None
    times_parse: float | None = None
    times_automaton: float | None = None
    matches_per_document: float | None = None


@dataclass(slots=True)
class Passes:
    """The measured times, in microseconds by document in the order of matching."""

    first: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    #: the slots of the documents that are checked
    found: list[frozenset[int]] = field(default_factory=list)
    later: list[list[float]] = field(default_factory=list)
    cpu_us: float = 0.0

    @property
    def typical(self) -> list[float]:
        """The median of each document; of the first pass where there was time for no other."""
        return [
            statistics.median(times or [once])
            for once, times in zip(self.first, self.later, strict=True)
        ]


def run_cells(source: Source, plan: Plan) -> Iterator[Cell]:
    """Measure every engine on one source, at every size of the plan that it has.

    An engine grows from size to size; sizes beyond the one that it is given up at get no row of it.
    A row is void, and marked so, if its matches are not the published ones, where there are any and
    all documents were matched, or if lxml disagrees on a sample.
    """
    documents = shuffled(source.documents())
    samples = {size: _truth(source, documents, size) for size in source.sizes(plan.sizes)}
    reference: dict[int, list[float]] = {}
    for name in plan.engines:
        rival = contender(name)
        expressions = source.expressions(max(samples))
        filling = Filling(0, 0, 0.0, plan.fill_seconds)
        for size, sample in samples.items():
            filling = fill(rival, expressions, size, filling)
            add_us = filling.seconds / max(1, filling.added) * 1e6
            blank = Cell(source.name, name, size, filling.added, str(filling), add_us)
            if not filling.complete:
                yield blank
                break
            with settled_heap():
                passes = measure(rival, documents, plan.seconds)
                parsing = _parsing(
                    documents[: len(passes.first)], reads_content=source.reads_content
                )
            if name == AUTOMATON:
                reference[size] = passes.typical
            verdict = _verdict(passes, sample, source.published.get(size), len(documents))
            yield _filled(blank, verdict, passes, parsing, reference.get(size))


def shuffled(documents: Sequence[bytes]) -> list[bytes]:
    """The documents in an order of which every beginning is a sample."""
    return Random(SEED).sample(documents, len(documents))  # noqa: S311 - samples, not secrets


def fill(rival: Contender, expressions: Iterator[str], wanted: int, before: Filling) -> Filling:
    """Add expressions until there are `wanted` or the budget is spent; reading them is free."""
    added, seconds = before.added, before.seconds
    for expression in islice(expressions, wanted - added):
        if seconds >= before.budget_s:
            break
        read = rival.read(expression)
        begin = time.perf_counter()
        rival.add(read)
        seconds += time.perf_counter() - begin
        added += 1
    return Filling(wanted, added, seconds, before.budget_s)


def measure(rival: Contender, documents: Sequence[bytes], seconds: float) -> Passes:
    """Match all documents once and then again and again, as far as the time goes."""
    passes = Passes()
    end = time.perf_counter() + seconds
    for document in documents:
        begin = time.perf_counter()
        found = rival.match(document)
        passes.first.append((time.perf_counter() - begin) * 1e6)
        passes.counts.append(len(found))
        if len(passes.found) < CHECKED_DOCUMENTS:
            passes.found.append(frozenset(map(int, found)))
        if time.perf_counter() >= end:
            break
    passes.later = [[] for _ in passes.first]
    end = time.perf_counter() + seconds
    begin_cpu, matched = time.thread_time(), 0
    for _ in range(PASSES):
        for document, times in zip(documents, passes.later, strict=False):
            if time.perf_counter() >= end:
                break
            begin = time.perf_counter()
            rival.match(document)
            times.append((time.perf_counter() - begin) * 1e6)
            matched += 1
    passes.cpu_us = (time.thread_time() - begin_cpu) / max(1, matched) * 1e6
    return passes


def _filled(
    blank: Cell,
    verdict: str,
    passes: Passes,
    parsing: Mapping[str, float],
    reference: list[float] | None,
) -> Cell:
    """The cell with its figures."""
    typical = passes.typical
    match_us = statistics.fmean(typical)
    times_automaton = None
    if reference is not None:
        times_automaton = match_us / statistics.fmean(reference[: len(typical)])
    return Cell(
        blank.workload,
        blank.engine,
        blank.expressions,
        blank.added,
        verdict,
        blank.add_us,
        documents=len(typical),
        match_us=match_us,
        cpu_us=passes.cpu_us or None,
        first_us=statistics.fmean(passes.first),
        first_max_us=max(passes.first),
        **parsing,
        times_parse=match_us / parsing["parse_us"],
        times_automaton=times_automaton,
        matches_per_document=statistics.fmean(passes.counts),
    )


def _parsing(documents: Sequence[bytes], *, reads_content: bool) -> dict[str, float]:
    """The time of reading, as an engine does it and as the parser alone does."""
    readers: dict[str, Callable[[bytes], object]] = {
        "parse_us": lambda data: read_document(data, content=reads_content),
        "tree_us": etree.fromstring,
    }
    took: dict[str, list[list[float]]] = {name: [[] for _ in documents] for name in readers}
    for _ in range(PASSES):
        for name, read in readers.items():
            for document, times in zip(documents, took[name], strict=True):
                begin = time.perf_counter()
                read(document)
                times.append((time.perf_counter() - begin) * 1e6)
    return {name: statistics.fmean(map(statistics.median, times)) for name, times in took.items()}


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample of slots, and those of them that hold of each checked document."""

    slots: frozenset[int]
    found: tuple[frozenset[int], ...]


def _truth(source: Source, documents: Sequence[bytes], size: int) -> _Sample:
    """The matches by lxml of expressions drawn from the first `size`."""
    random = Random(SEED)  # noqa: S311 - samples, not secrets
    slots = frozenset(random.sample(range(size), min(size, CHECKED_EXPRESSIONS)))
    compiled = {
        slot: etree.XPath(f"boolean({expression})")
        for slot, expression in enumerate(source.expressions(size))
        if slot in slots
    }
    trees = [etree.ElementTree(etree.fromstring(d)) for d in documents[:CHECKED_DOCUMENTS]]
    return _Sample(
        slots,
        tuple(frozenset(slot for slot, holds in compiled.items() if holds(tree)) for tree in trees),
    )


def _verdict(passes: Passes, sample: _Sample, published: str | None, documents: int) -> str:
    """`AGREES` and with what, or why the row is void."""
    for at, (found, expected) in enumerate(zip(passes.found, sample.found, strict=False)):
        wrong = (found & sample.slots) ^ expected
        if wrong:
            return f"VOID: lxml says otherwise of expression {min(wrong)} and document {at}"
    if published is None or len(passes.counts) < documents:
        return AGREES
    mean = Decimal(sum(passes.counts)) / documents
    if mean.quantize(Decimal(published)) != Decimal(published):
        return f"VOID: {mean} matches a document, published are {published}"
    return "as published"
