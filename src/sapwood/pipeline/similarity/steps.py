"""A subscription set to its near pairs: the steps of `similarity`.

::

    subscriptions ── distinct filters ── blocks ── similarities of each direction ── pairs
    id, form         key, form, labels    slot, chunk    one, other, is_there

Every step is a function from DataFrame to DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.language.forms import PATTERN_MARK, encode_form
from sapwood.limits.pipeline import NEAR_LABELS_MAX
from sapwood.model.filter import NOTHING
from sapwood.pipeline.similarity.workers import (
    DESCRIBED,
    FOUND,
    PLACED,
    CompareBlocks,
    DescribeFilters,
    Known,
    PlaceFilters,
)
from sapwood.pipeline.spark.shuffle import gather_by
from sapwood.similarity.near.bounds import SLACK, least_similarity

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHUNK_FILTERS: Final = 2_000
"""The least searching filters of a chunk: a stored filter is read anew in each chunk."""

CHUNKS_MAX: Final = 64

_NOTHING: Final = encode_form(NOTHING)


@dataclass(frozen=True, slots=True)
class Cut:
    """The cut of filters into blocks: `PlaceFilters` has the same members."""

    slots: int
    pattern_slots: int
    chunks: int
    labels: tuple[str, ...]
    frequencies: Mapping[str, int]


def members(subscriptions: DataFrame) -> DataFrame:
    """Subscriptions (id, attributes = normal form) with the key of their filter; null for none.

    A filter that nothing can match has no key.
    """
    from pyspark.sql import functions as F  # noqa: N812

    key = F.substring(F.sha2("attributes", 256), 1, 32)
    alive = F.col("attributes") != F.lit(_NOTHING)
    return subscriptions.select(
        "id", F.when(alive, key).alias("key"), F.col("attributes").alias("form")
    )


def described(members: DataFrame, known: Known) -> DataFrame:
    """The distinct filters (`DESCRIBED`)."""
    from pyspark.sql import functions as F  # noqa: N812

    some = members.where("key IS NOT NULL")
    counted = some.groupBy("form").agg(
        F.first("key").alias("key"), F.count(F.lit(1)).alias("subscriptions")
    )
    describe = DescribeFilters(not known.is_nothing)
    return counted.select("key", "form", "subscriptions").mapInArrow(describe, DESCRIBED)


def cut_for(filters: DataFrame, cores: int, group_max: int) -> Cut:
    """The cut for these filters, which the caller keeps."""
    from pyspark.sql import functions as F  # noqa: N812

    compared = filters.where("reason IS NULL")
    kinds = compared.groupBy(_is_pattern(F.col("form")).alias("is_pattern")).count().collect()
    sizes = {bool(row["is_pattern"]): int(row["count"]) for row in kinds}
    boxes, patterns = sizes.get(False, 0), sizes.get(True, 0)
    slots, pattern_slots = max(1, -(-boxes // group_max)), max(1, -(-patterns // group_max))
    labels: dict[bool, dict[str, int]] = {False: {}, True: {}}
    if max(slots, pattern_slots) > 1:
        each = compared.select(
            _is_pattern(F.col("form")).alias("is_pattern"), F.explode("labels").alias("label")
        )
        counted = each.groupBy("is_pattern", "label").count()
        for row in counted.orderBy(F.desc("count")).limit(2 * NEAR_LABELS_MAX).collect():
            labels[bool(row["is_pattern"])][row["label"]] = int(row["count"])
        if len(labels[False]) > NEAR_LABELS_MAX:
            slots = 1
    largest = max(boxes // slots, patterns // pattern_slots)
    chunks = max(1, min(4 * cores, CHUNKS_MAX, largest // CHUNK_FILTERS))
    return Cut(slots, pattern_slots, chunks, tuple(labels[False]), labels[True])


def near(filters: DataFrame, cut: Cut, known: Known, threshold: float, cores: int) -> DataFrame:
    """The near pairs of filters: one, other, proximity, there, back; keys, the smaller one first.

    None is missed whose proximity is the threshold or more. Raises `InputError` for a threshold by
    which nothing can be ruled out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    least = least_similarity(threshold)
    numbers = (cut.slots, cut.pattern_slots, cut.chunks)
    place = PlaceFilters(*numbers, cut.labels, cut.frequencies, known, least)
    some = filters.where("reason IS NULL").select("key", "form")
    placed = some.mapInArrow(place, PLACED)
    blocks = (cut.slots + cut.pattern_slots) * cut.chunks
    together = gather_by(placed, max(1, min(blocks, 8 * cores)), "slot", "chunk")
    ordered = together.sortWithinPartitions("slot", "chunk")
    found = ordered.mapInArrow(CompareBlocks(known, least), FOUND)
    # A pair may meet in several blocks, with the same result.
    sides = found.groupBy("one", "other").agg(
        F.max(F.when(F.col("is_there"), F.col("similarity"))).alias("there"),
        F.max(F.when(~F.col("is_there"), F.col("similarity"))).alias("back"),
    )
    both = sides.select(
        "one", "other", ((F.col("there") + F.col("back")) / 2).alias("proximity"), "there", "back"
    )
    return both.where(F.col("proximity") >= F.lit(threshold - SLACK))


def _is_pattern(form: Column) -> Column:
    """The condition that a normal form is that of a tree pattern."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.substring(form, 1, len(PATTERN_MARK)) == F.lit(PATTERN_MARK)
