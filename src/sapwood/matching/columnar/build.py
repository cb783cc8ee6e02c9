"""From rows to a segment: rank, choose, cluster, and lay everything out in cluster order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import access
from sapwood.matching.columnar.access import KEY_MAX, Choice, Entries, Shape, Tables
from sapwood.matching.columnar.ranking import Lines, Ranked, rank
from sapwood.matching.columnar.rows import Checks, Ints, Rows, selection
from sapwood.matching.columnar.segment import CHECKED, SHARED, U8, U32, Annex, Columns, Segment
from sapwood.matching.storage import Array, frozen
from sapwood.matching.texts import packed


def build(rows: Rows, attributes: int) -> Segment:
    """The segment of some conjunctions on the attributes `0 .. attributes - 1`.

    Takes a few microseconds for each conjunction, nearly all of it sorting.
    """
    ranked = rank(rows, attributes)
    shapes = access.shape(rows, ranked, attributes)
    choice = access.choose(shapes, len(rows.slot))
    tables, entries = access.clusters(rows, ranked, shapes, choice)
    layout = _lay_out(rows, shapes, choice, entries, len(tables.ordered.is_up_to))
    columns = Columns(
        **_line_columns(ranked.lines),
        **_directory_columns(tables, layout),
        **_entry_columns(shapes, layout),
        **_conjunction_columns(rows, ranked, shapes, choice, layout),
    )
    annex, marks = _annex(rows.checks, columns.slot, layout)
    return Segment(
        Columns(*(frozen(array) for array in columns)),
        Annex(*(frozen(array) for array in annex)),
        marks,
    )


class _Layout(NamedTuple):
    """Everything in cluster order."""

    entries: Entries
    ordered: int  # entries in ordered clusters
    order: Ints  # [n] conjunctions of the rows, in their new order
    number: Ints  # [n] the new number of each conjunction of the rows
    lead: Ints  # [n] the constraint that each entry of a conjunction evaluates first, or -1
    constraints: Ints  # constraints of the rows in evaluation order, by new number
    constraint_start: Ints  # [n + 1]


def _lay_out(
    rows: Rows, shapes: Shape, choice: Choice, entries: Entries, ordered_clusters: int
) -> _Layout:
    """Sort entries within clusters and number conjunctions by their first entry.

    Entries of ordered clusters are sorted by key. All others are sorted by the constraint that they
    evaluate first, so that neighbors read the same cell and branch alike.
    """
    evaluation = access.evaluation_order(shapes, choice)
    counts = np.diff(rows.constraint_start)
    lead = np.full(len(counts), -1)
    evaluates = counts > choice.is_exact
    lead[evaluates] = evaluation[rows.constraint_start[:-1][evaluates]]

    of_entry = lead[entries.conjunction]
    is_ordered = entries.cluster < ordered_clusters
    within = np.where(is_ordered, entries.key, _taken(shapes.attribute, of_entry))
    arranged = np.lexsort((_taken(shapes.low, of_entry), within, entries.cluster))
    sorted_entries = Entries(*(column[arranged] for column in entries))

    _, first_entry = np.unique(sorted_entries.conjunction, return_index=True)
    order = np.argsort(first_entry, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    places, constraint_start = selection(rows.constraint_start, order)
    return _Layout(
        sorted_entries,
        int(np.count_nonzero(is_ordered)),
        order,
        number,
        lead,
        evaluation[places],
        constraint_start,
    )


def _line_columns(lines: Lines) -> dict[str, Array]:
    offsets, joined = packed(lines.texts)
    return {
        "number_start": lines.number_start,
        "numbers": lines.numbers,
        "remainders": lines.remainders,
        "text_start": lines.text_start,
        "text_prefixes": _prefixes(lines.texts)[lines.text_refs],
        "text_refs": lines.text_refs,
        "text_offsets": offsets,
        "text_bytes": joined,
    }


def _directory_columns(tables: Tables, layout: _Layout) -> dict[str, Array]:
    every_cluster = np.arange(tables.clusters + 1)
    return {
        "points": tables.points,
        "level_start": tables.levels.start,
        "level_shift": tables.levels.shift,
        "level_base": tables.levels.base,
        "ordered_start": tables.ordered.start,
        "ordered_is_up_to": tables.ordered.is_up_to.astype(np.uint8),
        "ordered_zone_low": tables.ordered.zone_low.astype(np.uint32),
        "ordered_zone_high": tables.ordered.zone_high.astype(np.uint32),
        "cluster_start": _u32(np.searchsorted(layout.entries.cluster, every_cluster)),
    }


def _entry_columns(shapes: Shape, layout: _Layout) -> dict[str, Array]:
    """An entry evaluates the hull of its leading constraint; without one it accepts all cells."""
    lead = layout.lead[layout.entries.conjunction]
    span = _taken(shapes.high, lead) - _taken(shapes.low, lead)
    return {
        "entry_key": _u32(layout.entries.key[: layout.ordered]),
        "entry_attribute": _u32(_taken(shapes.attribute, lead)),
        "entry_low": _u32(_taken(shapes.low, lead)),
        "entry_span": _u32(np.where(lead < 0, KEY_MAX, span)),
        "entry_conjunction": _u32(layout.number[layout.entries.conjunction]),
    }


def _conjunction_columns(
    rows: Rows, ranked: Ranked, shapes: Shape, choice: Choice, layout: _Layout
) -> dict[str, Array]:
    lead = layout.lead[layout.order]
    # The hull is the whole constraint if it has one run; otherwise its runs are still to be tried.
    is_settled = (lead >= 0) & (_taken(shapes.runs, lead) == 1)
    runs, run_start = selection(rows.run_start, layout.constraints)
    return {
        "rest_start": _u32(layout.constraint_start[:-1] + is_settled),
        "rest_stop": _u32(layout.constraint_start[1:] - choice.is_exact[layout.order]),
        "constraint_start": _u32(layout.constraint_start),
        "constraint_attribute": _u32(shapes.attribute[layout.constraints]),
        "run_start": _u32(run_start),
        "run_low": ranked.low[runs],
        "run_span": ranked.high[runs] - ranked.low[runs],
        "slot": rows.slot[layout.order],
    }


def _annex(checks: Checks, slot: npt.NDArray[np.int32], layout: _Layout) -> tuple[Annex, U8]:
    owner = layout.number[checks.owner]
    by_owner = np.argsort(owner, kind="stable")
    check_start = np.searchsorted(owner[by_owner], np.arange(len(slot) + 1))
    _, of_slot, times = np.unique(slot, return_inverse=True, return_counts=True)
    marks = np.zeros(len(slot), np.uint8)
    marks[owner] |= CHECKED
    marks[times[of_slot] > 1] |= SHARED
    annex = Annex(
        _u32(np.argsort(slot, kind="stable")),
        _u32(check_start),
        _u32(checks.probe[by_owner]),
        checks.forbidden[by_owner],
    )
    return annex, marks


def _prefixes(texts: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each text as a number that sorts alike; short texts end in zeros."""
    joined = b"".join(text[:8].ljust(8, b"\0") for text in texts)
    return np.frombuffer(joined, ">u8").astype(np.uint64)


def _taken(values: Ints, places: Ints) -> Ints:
    """The values at `places`, and 0 where a place is negative."""
    result = np.zeros(len(places), np.int64)
    valid = places >= 0
    result[valid] = values[places[valid]]
    return result


def _u32(values: Ints) -> U32:
    assert values.max(initial=0) <= KEY_MAX, "a segment has more than 2**32 entries"
    return values.astype(np.uint32)
