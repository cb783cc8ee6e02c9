"""Bitmaps: the entries of a large cluster that an attribute's value can satisfy, 64 in one step.

A *partition* is a cluster, or all buckets of a grid, that is large enough for bitmaps. The domain
of an attribute is cut into 7 to 15 *bins* of as many ranks each, so that they hold about as many
constants each, whatever the values. Each bin has a bitmap with a bit for every entry of the
partition: it is set if the entry's constraint on the attribute accepts any rank of the bin (and
where there is no constraint). One more bitmap, number 0, stands for absence. (It is a binned bitmap
index.) The conjunction of the bitmaps that a record's ranks select leaves few candidates, which are
then evaluated exactly.

Bitmaps are worth their memory, a bit for each entry and bin, on the attributes that most entries
constrain; each partition has a list of its own. The bitmaps of a partition lie in blocks of 512
entries: within a block, a cache line of each bitmap after the other, attribute by attribute. So a
lookup reads whole cache lines of one place. With 2 attributes of 8 bitmaps each, a partition of 600
entries has 10 words a bitmap: a block of 16 times 8 words, and one of 16 times 2 words.

Source: bit sets by attribute and value interval are known from REIN and its kin (Qian and others
2014). Their bit sets span all subscriptions and mark those that fail; these bitmaps are of one
partition, which a lookup has cut out of all already, and mark those that may match.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np

from sapwood.matching.columnar.access import Choice, Entries, Floats, Shape, Tables
from sapwood.matching.columnar.columns import ATTRIBUTES_MAX, BLOCK_WORDS, U64
from sapwood.matching.columnar.grids import SCALE_BITS, Grids
from sapwood.matching.columnar.ranking import Domains
from sapwood.matching.columnar.rows import Ints, Outline, selection

PARTITION_MIN: Final = 64
"""Entries of a partition, and entries that a lookup leads to, at the least: bits of one word."""

_BITMAPS_MAX: Final = 16
_BITMAPS_MIN: Final = 8
"""Bitmaps of an attribute: one for each bin of the domain, and the one for absence."""

_BYTES_MAX: Final = 114
"""Bytes that a conjunction may take with more than the fewest bitmaps. An id takes four more."""

_CONJUNCTION_BYTES: Final = 14
_CONSTRAINT_BYTES: Final = 9
_TEXT_BYTES: Final = 24
"""Other bytes of conjunctions and constraints, and about those of a text."""

_USE_MIN: Final = 1 / 64
"""Share of a partition's entries that the bitmaps of an attribute must rule out."""

_DENSE_PAIRS_MAX: Final = 1 << 24
"""Pairs of cluster and attribute that are counted in a table, 8 bytes each; more are sorted."""


class BitmapLayout(NamedTuple):
    """The partitions, and the attributes that have bitmaps in each of them."""

    first: Ints  # [p] entry, ascending
    last: Ints  # [p]
    start: Ints  # [p + 1] groups the rest by partition
    attribute: Ints  # the most selective first
    word: Ints  # [p] the partition's first word
    words: int  # of all bitmaps
    bins: int  # bitmaps of each attribute
    scale: Ints  # [a] turns a rank into its bin: `rank * scale >> 32`


class FillTask(NamedTuple):
    """The input of `fill_bitmaps`; rank ranges by their first and last rank."""

    partition_first: Ints  # [p] entry
    partition_last: Ints  # [p]
    bitmap_start: Ints  # [p + 1]
    bitmap_attribute: Ints
    bitmap_word: Ints  # [p]
    bins: int  # bitmaps of each attribute
    bin_scale: Ints  # [a]
    entry_conjunction: Ints
    constraint_start: Ints
    constraint_attribute: Ints
    range_start: Ints
    range_low: Ints
    range_high: Ints


class BitmapKernels(Protocol):
    """The module that fills bitmaps."""

    def fill_bitmaps(self, task: FillTask, rows: U64) -> None:
        """Clear in `rows`, which are all ones, the bit of every entry that a bin excludes."""


class EntryRanges(NamedTuple):
    """The `r` ranges of entries that may become partitions."""

    first: Ints  # [r] entry, ascending
    last: Ints  # [r]
    looked_up: Floats  # [r] entries that a lookup leads to, on average


def entry_ranges(tables: Tables, grids: Grids, cluster_start: Ints) -> EntryRanges:
    """The entry ranges of all clusters but those of grids, and of all grids."""
    is_bucket = np.zeros(tables.clusters, np.bool_)
    is_bucket[tables.first_bucket : tables.first_literal] = True
    alone = np.flatnonzero(~is_bucket)
    size = grids.rows * grids.columns
    begin = tables.first_bucket + grids.bucket
    sizes = np.diff(cluster_start)
    squares = np.append(0, np.cumsum(np.square(sizes)))
    members = cluster_start[begin + size] - cluster_start[begin]
    walk = 1 + (grids.second_reach * grids.second_scale >> SCALE_BITS)
    looked_up = (squares[begin + size] - squares[begin]) / np.maximum(1, members) * walk
    first = np.concatenate([cluster_start[alone], cluster_start[begin]])
    order = np.argsort(first, kind="stable")
    return EntryRanges(
        first[order],
        np.concatenate([cluster_start[alone + 1], cluster_start[begin + size]])[order],
        np.concatenate([sizes[alone].astype(np.float64), looked_up])[order],
    )


def bitmap_layout(  # noqa: PLR0917 - all results for the segment so far
    rows: Outline,
    shapes: Shape,
    choice: Choice,
    entries: Entries,
    found: EntryRanges,
    domains: Domains,
) -> BitmapLayout:
    """The partitions: all entry ranges that are large enough. Entries are in order."""
    attributes = len(domains.number_start) - 1
    sizes = found.last - found.first
    partitions = np.flatnonzero((sizes >= PARTITION_MIN) & (found.looked_up >= PARTITION_MIN))
    number = np.repeat(np.arange(len(partitions)), sizes[partitions])
    in_partition, _ = selection(np.append(found.first, found.last[-1]), partitions)
    conjunctions = entries.conjunction[in_partition]
    constraints, start = selection(rows.constraint_start, conjunctions)
    partition = np.repeat(number, np.diff(start))
    owner = np.repeat(conjunctions, np.diff(start))
    use = 1.0 - shapes.chance[constraints]
    # The lookup implies or narrows these constraints.
    use[(choice.constraint[owner] == constraints) | (choice.second[owner] == constraints)] = 0.0
    pair, total = _totals(partition * attributes + shapes.attribute[constraints], use, attributes)
    partition_of, attribute = np.divmod(pair, max(1, attributes))
    worthy = total >= _USE_MIN * sizes[partitions[partition_of]]
    partition_of, attribute, total = partition_of[worthy], attribute[worthy], total[worthy]
    order = np.lexsort((attribute, -total, partition_of))
    partition_of, attribute = partition_of[order], attribute[order]
    order_in_partition = np.arange(len(partition_of)) - np.searchsorted(partition_of, partition_of)
    taken = order_in_partition < ATTRIBUTES_MAX
    partition_of, attribute = partition_of[taken], attribute[taken]
    used, first = np.unique(partition_of, return_index=True)
    start = np.append(first, len(partition_of))
    words = (sizes[partitions[used]] + 63) // 64 * np.diff(start)
    count = _bitmap_count(int(words.sum()), rows, domains)
    words *= count
    return BitmapLayout(
        found.first[partitions[used]],
        found.last[partitions[used]],
        start,
        attribute,
        np.cumsum(words) - words,
        int(words.sum()),
        count,
        (count - 1 << SCALE_BITS) // (domains.last_ranks() + 1),
    )


def _bitmap_count(words: int, rows: Outline, domains: Domains) -> int:
    """The bitmaps for each attribute that memory allows, if one for each takes `words` words."""
    constants = domains.numbers.itemsize // 2 * len(domains.numbers) + _TEXT_BYTES * len(
        domains.texts
    )
    others = _CONJUNCTION_BYTES * len(rows.slot) + _CONSTRAINT_BYTES * len(rows.attribute)
    allowed = _BYTES_MAX * len(rows.slot) - others - constants
    return max(_BITMAPS_MIN, min(_BITMAPS_MAX, allowed // max(1, 8 * words)))


def _totals(pairs: Ints, weights: Floats, attributes: int) -> tuple[Ints, Floats]:
    """The distinct pairs, ascending, and the sum of each one's weights."""
    if int(pairs.max(initial=0)) < max(_DENSE_PAIRS_MAX, attributes):
        sums = np.bincount(pairs, weights).astype(np.float64, copy=False)
        occurring: Ints = np.flatnonzero(sums)
        return occurring, sums[occurring]
    distinct, which = np.unique(pairs, return_inverse=True)
    return distinct, np.bincount(which, weights).astype(np.float64, copy=False)


def fill_bitmaps(task: FillTask, rows: U64) -> None:
    """`BitmapKernels.fill_bitmaps` in plain Python: for small sets, without a compiler."""
    entry_ranges = zip(task.partition_first.tolist(), task.partition_last.tolist(), strict=True)
    for partition, (first, last) in enumerate(entry_ranges):
        attributes = task.bitmap_attribute[
            task.bitmap_start[partition] : task.bitmap_start[partition + 1]
        ]
        of_block = len(attributes) * task.bins
        begin, words = int(task.bitmap_word[partition]), -(-(last - first) // 64)
        own = rows[begin : begin + words * of_block]
        for start in range(0, words, BLOCK_WORDS):
            width = min(BLOCK_WORDS, words - start)
            block = own[start * of_block : (start + width) * of_block]
            block = block.reshape(len(attributes), task.bins, width)
            entries = range(first + 64 * start, min(last, first + 64 * (start + width)))
            for at, attribute in enumerate(attributes.tolist()):
                for number, entry in enumerate(entries):
                    word, bit = divmod(number, 64)
                    for row in _excluded_bins(task, int(task.entry_conjunction[entry]), attribute):
                        block[at, row, word] &= ~np.uint64(1 << bit)


def _excluded_bins(task: FillTask, conjunction: int, attribute: int) -> list[int]:
    """The bins of an attribute that hold no rank which the conjunction accepts."""
    scale = int(task.bin_scale[attribute])
    first, last = task.constraint_start[conjunction : conjunction + 2].tolist()
    for constraint in range(first, last):
        if task.constraint_attribute[constraint] == attribute:
            start, stop = task.range_start[constraint : constraint + 2].tolist()
            ranges = (task.range_low[start:stop].tolist(), task.range_high[start:stop].tolist())
            accepted: set[int] = set()
            for low, high in zip(*ranges, strict=True):
                accepted |= {0} if low == 0 else set()
                bins = (max(1, low) * scale >> 32, high * scale >> 32)
                accepted |= {1 + at for at in range(bins[0], bins[1] + 1) if high}
            return [row for row in range(task.bins) if row not in accepted]
    return []
