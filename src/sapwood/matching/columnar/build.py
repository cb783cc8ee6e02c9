"""From rows to a segment: rank, choose, cluster, and lay out all columns in cluster order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import access, bitmaps, grids
from sapwood.matching.columnar.access import Choice, Entries, Shape, Tables
from sapwood.matching.columnar.bitmaps import BitmapKernels, BitmapLayout, FillTask
from sapwood.matching.columnar.bucket_hints import bucket_hints
from sapwood.matching.columnar.columns import (
    BLOCK_END,
    CHECKED,
    I32,
    IMPLIED_BIT,
    KEY_MAX,
    SEVERAL,
    SHARED,
    U8,
    U32,
    segment_buffer,
)
from sapwood.matching.columnar.grids import Grids
from sapwood.matching.columnar.literals import (
    LiteralKernels,
    Literals,
    Patterns,
    found_by_literals,
    with_literals,
)
from sapwood.matching.columnar.ranking import Domains, RankedRows, rank
from sapwood.matching.columnar.rows import DECIDED, Checks, Ints, Outline, Rows, selection
from sapwood.matching.columnar.sampling import Sample, sampled
from sapwood.matching.columnar.segment import Annex, Segment
from sapwood.matching.storage import Array, frozen
from sapwood.matching.texts import packed


class BuildingKernels(BitmapKernels, LiteralKernels, Protocol):
    """The module with the building steps that take too long in Python."""


def build(
    rows: Rows,
    attributes: int,
    kernels: BuildingKernels,
    patterns: Patterns,
    sample: Sample | None = None,
) -> Segment:
    """The segment of the conjunctions of `rows` on the attributes `0 .. attributes - 1`.

    `patterns` has the predicates of its checks. `sample` has records that have been matched; it
    shows which constraints are selective. Takes a few microseconds for each conjunction, most of it
    sorting.
    """
    return build_ranked(RankedRows(rows.outline, rank(rows, attributes)), kernels, patterns, sample)


def build_ranked(
    ranked_rows: RankedRows,
    kernels: BuildingKernels,
    patterns: Patterns,
    sample: Sample | None = None,
) -> Segment:
    """The segment of conjunctions whose ranges are ranks."""
    rows, ranked = ranked_rows
    attributes = len(ranked.domains.number_start) - 1
    seen = sampled(sample, ranked.domains) if sample else None
    shapes = access.shape(rows, ranked, attributes, seen)
    choice = access.choose(rows, shapes)
    literals = found_by_literals(
        rows.checks, shapes, choice, patterns, kernels, sample.records if sample else ()
    )
    choice = with_literals(choice, literals)
    pairs = grids.paired(shapes, choice, ranked.domains)
    choice = grids.with_pairs(choice, pairs)
    tables, entries = access.clusters(
        rows, ranked, shapes, choice, pairs.buckets, literals.clusters
    )
    layout = _lay_out(rows, shapes, choice, tables, entries)
    entry_ranges = bitmaps.entry_ranges(tables, pairs.grids, layout.cluster_start)
    bitmap_layout = bitmaps.bitmap_layout(
        rows, shapes, choice, layout.entries, entry_ranges, ranked.domains
    )
    ranges, range_start = selection(rows.range_start, layout.constraints)
    task = FillTask(
        bitmap_layout.first,
        bitmap_layout.last,
        bitmap_layout.start,
        bitmap_layout.attribute,
        bitmap_layout.word,
        bitmap_layout.bins,
        bitmap_layout.scale,
        layout.number[layout.entries.conjunction],
        layout.constraint_start,
        shapes.attribute[layout.constraints],
        range_start,
        ranked.low[ranges].astype(np.int64),
        ranked.high[ranges].astype(np.int64),
    )
    del shapes, entry_ranges, ranges  # some hundred bytes a conjunction
    bitmap_words = np.full(bitmap_layout.words, np.uint64(0xFFFF_FFFF_FFFF_FFFF))
    kernels.fill_bitmaps(task, bitmap_words)
    buffer = segment_buffer(
        {
            **_domain_columns(ranked.domains),
            **_directory_columns(tables, layout, bitmap_layout),
            **_grid_columns(pairs.grids, tables.first_bucket),
            **_literal_columns(literals, tables.first_literal),
            **_block_columns(task, rows.slot[layout.order], choice.is_exact[layout.order]),
            "bitmaps": bitmap_words,
        }
    )
    annex, marks = _annex(rows, layout, literals.implied)
    return Segment(buffer, Annex(*(frozen(array) for array in annex)), marks)


class _Layout(NamedTuple):
    """Entries, conjunctions and constraints in cluster order."""

    entries: Entries
    ordered: int  # entries in ordered clusters
    cluster_start: Ints  # [clusters + 1]
    order: Ints  # [n] conjunctions of the rows, in their new order
    number: Ints  # [n] the new number of each conjunction of the rows
    constraints: Ints  # constraints of the rows in evaluation order, by new number
    constraint_start: Ints  # [n + 1]


def _lay_out(
    rows: Outline, shapes: Shape, choice: Choice, tables: Tables, entries: Entries
) -> _Layout:
    """Sort entries by cluster, and by key where clusters are ordered.

    Conjunctions are numbered by their first entry.
    """
    ordered_clusters = len(tables.ordered.is_up_to)
    arranged = np.argsort(entries.cluster << 32 | entries.key, kind="stable")
    sorted_entries = Entries(*(column[arranged] for column in entries))
    conjunctions = len(rows.slot)
    first_entry = np.full(conjunctions, len(arranged))
    backwards = sorted_entries.conjunction[::-1]
    first_entry[backwards] = np.arange(len(arranged) - 1, -1, -1)
    order = np.argsort(first_entry, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(conjunctions)
    places, constraint_start = selection(rows.constraint_start, order)
    cluster_start = np.searchsorted(sorted_entries.cluster, np.arange(tables.clusters + 1))
    return _Layout(
        sorted_entries,
        int(cluster_start[ordered_clusters]),
        cluster_start,
        order,
        number,
        access.evaluation_order(shapes, choice)[places],
        constraint_start,
    )


def _domain_columns(domains: Domains) -> dict[str, Array]:
    offsets, joined = packed(domains.texts)
    counts = domains.number_counts()
    is_single = _held_by_singles(domains)
    of_single = np.repeat(is_single, counts)
    remainders = domains.remainders[~of_single]
    hint_start, hint, hint_scale = bucket_hints(domains)
    return {
        "number_start": _starts(np.where(is_single, 0, counts)),
        "numbers": domains.numbers[~of_single],
        "remainders": remainders if np.any(remainders) else remainders[:0],
        "single_start": _starts(np.where(is_single, counts, 0)),
        "singles": domains.numbers[of_single].astype(np.float32),
        "hint_start": hint_start,
        "hint": hint,
        "hint_scale": hint_scale,
        "text_start": domains.text_start,
        "text_prefixes": _prefixes(domains.texts)[domains.text_refs],
        "text_refs": domains.text_refs,
        "text_offsets": offsets,
        "text_bytes": joined,
    }


def _held_by_singles(domains: Domains) -> npt.NDArray[np.bool_]:
    """True for each domain with only numbers that 32 bits hold exactly."""
    with np.errstate(over="ignore"):
        lost = domains.numbers != domains.numbers.astype(np.float32)
    lost |= domains.remainders != 0
    on = np.repeat(np.arange(len(domains.number_start) - 1), domains.number_counts())
    held: npt.NDArray[np.bool_] = (
        np.bincount(on[lost], minlength=len(domains.number_start) - 1) == 0
    )
    return held


def _directory_columns(
    tables: Tables, layout: _Layout, bitmap_layout: BitmapLayout
) -> dict[str, Array]:
    entry_conjunction = layout.number[layout.entries.conjunction]
    is_plain = len(entry_conjunction) == len(layout.order)
    return {
        "bin_scale": bitmap_layout.scale,
        "points": tables.points,
        "ordered_start": tables.ordered.start,
        "ordered_is_up_to": tables.ordered.is_up_to,
        "ordered_zone_low": tables.ordered.zone_low,
        "ordered_zone_high": tables.ordered.zone_high,
        "ordered_reach": tables.ordered.reach,
        "cluster_start": layout.cluster_start,
        "partition_first": bitmap_layout.first,
        "partition_last": bitmap_layout.last,
        "bitmap_start": bitmap_layout.start,
        "bitmap_attribute": bitmap_layout.attribute,
        "bitmap_word": bitmap_layout.word,
        "bins": np.array([bitmap_layout.bins]),
        "entry_key": layout.entries.key[: layout.ordered],
        "entry_conjunction": entry_conjunction[:0] if is_plain else entry_conjunction,
    }


def _grid_columns(found: Grids, first_bucket: int) -> dict[str, Array]:
    return {
        "grid_start": found.start,
        "grid_second": found.second,
        "grid_first_scale": found.first_scale,
        "grid_second_scale": found.second_scale,
        "grid_first_reach": found.first_reach,
        "grid_second_reach": found.second_reach,
        "grid_columns": found.columns,
        "grid_cluster": found.bucket + first_bucket,
    }


def _literal_columns(found: Literals, first_literal: int) -> dict[str, Array]:
    return {
        "literal_attribute": found.attribute,
        "literal_is_lower": found.is_lower,
        "literal_start": found.start,
        "literal_root": found.root,
        "literal_child": found.child,
        "literal_label": found.label,
        "literal_fail": found.fail,
        "literal_output": found.output,
        "literal_next": found.next,
        "literal_cluster": np.array([first_literal]),
    }


def _block_columns(
    task: FillTask, slot: I32, is_implied: npt.NDArray[np.bool_]
) -> dict[str, Array]:
    """The columns of blocks: the ranks of a single range, or the place of several in `several`."""
    first, ranges = task.range_start[:-1], np.diff(task.range_start)
    has_several = ranges > 1
    widths = task.range_high - task.range_low
    members, several_start = selection(task.range_start, np.flatnonzero(has_several))
    attribute = task.constraint_attribute
    bits = next(bits for bits in (8, 16, 32) if attribute.max(initial=0) >> bits == 0)
    count = np.diff(task.constraint_start)
    start = _starts(1 + 2 * count + (count * bits + 31) // 32)
    blocks = np.zeros(start[-1] + BLOCK_END, np.uint32)
    blocks[start[:-1]] = slot | is_implied.astype(np.uint32) << IMPLIED_BIT
    place = np.arange(len(attribute)) - np.repeat(task.constraint_start[:-1], count)
    block = np.repeat(start[:-1], count) + 1
    low = np.where(has_several, np.cumsum(has_several) - 1, task.range_low[first])
    blocks[block + 2 * place] = _u32(low)
    blocks[block + 2 * place + 1] = _u32(np.where(has_several, SEVERAL, widths[first]))
    packed_at = block + 2 * np.repeat(count, count) + place * bits // 32
    np.bitwise_or.at(blocks, packed_at, (attribute << place * bits % 32).astype(np.uint32))
    strides = np.unique(np.diff(start))
    stride = strides[:1] if len(strides) == 1 else np.zeros(1, np.int64)
    return {
        "attribute_bits": np.array([bits]),
        "block_stride": stride,
        "block_start": start[:0] if stride[0] else start,
        "blocks": blocks,
        "several_start": several_start,
        "several": np.stack([task.range_low[members], widths[members]], axis=1).reshape(-1),
    }


def _annex(rows: Outline, layout: _Layout, implied: Ints) -> tuple[Annex, U8]:
    """The annex, and the marks: checks that no lookup implies, shared slots."""
    checks: Checks = rows.checks
    is_open = (checks.flags & DECIDED) == 0
    is_open[implied] = False
    slot = rows.slot[layout.order]
    owner = layout.number[checks.owner]
    by_owner = np.argsort(owner, kind="stable")
    by_slot = np.argsort(slot, kind="stable")
    marks = np.zeros(len(slot), np.uint8)
    marks[owner[is_open]] |= CHECKED
    again = np.diff(slot[by_slot]) == 0
    marks[by_slot[:-1][again]] |= SHARED
    marks[by_slot[1:][again]] |= SHARED
    annex = Annex(
        _u32(by_slot),
        _u32(owner[by_owner]),
        _u32(checks.predicate[by_owner]),
        checks.flags[by_owner],
    )
    return annex, marks


def _prefixes(texts: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each text as a number in their order; short texts end in zeros."""
    joined = b"".join(text[:8].ljust(8, b"\0") for text in texts)
    return np.frombuffer(joined, ">u8").astype(np.uint64)


def _starts(counts: Ints) -> Ints:
    """The begins of groups of these sizes, and the end of the last one."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _u32(values: Ints) -> U32:
    assert values.max(initial=0) <= KEY_MAX, "a segment has more than 2**32 entries"
    return values.astype(np.uint32)
