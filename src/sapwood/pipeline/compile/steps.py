"""A subscription set of any size to the set that brokers load: the steps of `compile`.

::

    subscriptions ── keyed ──┬── distinct ── covers ──┬── entries    home, key, filter, counts
    id, form, home           │                        │      └── mergers, where requested
                             └────────────────────────┴── members    id, home, key, entry

Every step is a function from DataFrame to DataFrame. A *key* names a filter (a digest of its normal
form), an *entry* is a filter that a home router keeps: for every publication the entries reach the
same homes as all subscriptions. Filters are compared within a home only, since a cover that lives
elsewhere brings nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.covering.batch.groups import EVERYTHING
from sapwood.errors import InputError
from sapwood.language.forms import PATTERN_MARK, encode_form
from sapwood.limits.pipeline import (
    COVER_GROUP_FILTERS_MAX,
    COVER_GROUP_PATTERNS_MAX,
    COVER_ROUNDS_MAX,
    COVER_SAMPLE_FILTERS,
)
from sapwood.model.filter import NOTHING
from sapwood.pipeline.compile.grouping import COVERED, PLACED, Cuts, FindCovers, PlaceFilters
from sapwood.pipeline.compile.merging import MERGED, SHAPED, MergeFilters, NameShapes
from sapwood.pipeline.spark.frames import computed, persisted
from sapwood.pipeline.spark.shuffle import gather_by

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEFAULT_HOMES: Final = ("r1",)
"""The homes of subscriptions that name none, by default: an overlay of one router."""

_NOTHING: Final = encode_form(NOTHING)

_ROUNDS_PLANNED: Final = 2
"""Rounds whose plans grow, twofold each, so that rows lost with an executor are computed again;
as a rule there are no more. With six it took half a minute to plan them."""

_MERGED_BY_ONE: Final = 2_000
"""Entries that one task may as well merge alone: it takes as long as to begin several."""


def keyed(subscriptions: DataFrame, *, homes: Sequence[str], seed: int = 0) -> DataFrame:
    """Subscriptions (id, attributes = normal form, home) with their key: id, home, key, form.

    A subscription without a home gets one of `homes`, by its id and the seed, whatever the others
    are. Raises `InputError` without any home.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return subscriptions.select(
        "id",
        _home(homes, seed).alias("home"),
        _key("attributes").alias("key"),
        F.col("attributes").alias("form"),
    )


def set_digest(*, homes: Sequence[str], seed: int = 0) -> Column:
    """An aggregate of subscriptions, as `keyed` takes them: a number, equal for equal sets.

    Rows without an id do not count. Raises `InputError` as `keyed` does.
    """
    from pyspark.sql import functions as F  # noqa: N812

    hashed = F.xxhash64(F.col("id"), _home(homes, seed), _key("attributes"))
    # The order of rows does not count, and no two have the same id.
    return F.coalesce(F.bit_xor(F.when(F.col("id").isNotNull(), hashed)), F.lit(0))


def distinct(keyed: DataFrame) -> DataFrame:
    """The distinct filters of each home that can match: home, key, form, subscriptions."""
    from pyspark.sql import functions as F  # noqa: N812

    satisfiable = keyed.where(F.col("form") != F.lit(_NOTHING))
    # By form, not by key: a value of variable length can be hashed, but not carried along unsorted.
    counted = satisfiable.groupBy("home", "form").agg(F.count(F.lit(1)).alias("subscriptions"))
    return counted.select("home", _key("form").alias("key"), "form", "subscriptions")


class HomeSize(NamedTuple):
    """The number of distinct filters of one kind that a home has, and of their subscriptions."""

    home: str
    is_pattern: bool
    filters: int
    subscriptions: int


def home_sizes(filters: DataFrame) -> list[HomeSize]:
    """The sizes of all homes, of `distinct` filters."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = filters.groupBy("home", is_pattern(F.col("form")).alias("is_pattern"))
    sums = (F.count(F.lit(1)).alias("filters"), F.sum("subscriptions").alias("subscriptions"))
    return [HomeSize(*row) for row in kinds.agg(*sums).collect()]


def _home(homes: Sequence[str], seed: int) -> Column:
    """The home of a subscription: the one that it names, or one that is drawn."""
    from pyspark.sql import functions as F  # noqa: N812

    if not homes or not all(homes):
        raise InputError("name at least one home router for subscriptions that name none")
    drawn = F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(len(homes))).cast("int")
    given = F.array(*(F.lit(home) for home in homes))
    return F.coalesce("home", F.get(given, drawn))


def _key(form: str) -> Column:
    """The name of a normal form: half of its digest."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.substring(F.sha2(form, 256), 1, 32)


def is_pattern(form: Column) -> Column:
    """The condition that a normal form is that of a tree pattern."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.substring(form, 1, len(PATTERN_MARK)) == F.lit(PATTERN_MARK)


class Covers(NamedTuple):
    """The filters that need not be kept: home, key, cover, subscriptions. `gone` counts them."""

    table: DataFrame
    gone: int


@contextmanager
def covers(
    filters: DataFrame, sizes: Sequence[HomeSize], *, group_max: int = COVER_GROUP_FILTERS_MAX
) -> Iterator[Covers]:
    """The filters that need not be kept, for the length of a block.

    `filters` are `distinct` ones, kept by the caller, and `sizes` their `home_sizes`. The cover is
    one that is kept. No pair of filters is missed of which `Filter.covers` or
    `TreePattern.covers` finds that one covers the other, however they are grouped; a home with more
    than `group_max` filters of one kind is compared in several groups.
    """
    from pyspark.sql import functions as F  # noqa: N812

    slots: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for size in sizes:
        most = min(group_max, COVER_GROUP_PATTERNS_MAX) if size.is_pattern else group_max
        slots[size.is_pattern][size.home] = -(-size.filters // most)
    counts = [*slots[0].values(), *slots[1].values()]
    plain = filters.select("home", "key", "form", "subscriptions")
    if max(counts, default=1) > 1:
        # Keys are digests, so the first ones are a fair sample.
        some = plain.orderBy("key").limit(COVER_SAMPLE_FILTERS).select("form").toArrow()
        place = PlaceFilters(*slots, Cuts.of(some.column(0).to_pylist()))
        placed = plain.mapInArrow(place, PLACED)
    else:
        slot = F.when(is_pattern(F.col("form")), -1).otherwise(0).alias("slot")
        role = F.lit(EVERYTHING).alias("role")
        placed = plain.select("home", slot, role, "key", "form", "subscriptions")
    groups = sum(counts)
    tasks = min(max(groups, 1), 8 * _cores(filters))
    # A number of partitions that is given is kept: small groups may be a lot of work.
    together = gather_by(placed, tasks, "home", "slot")
    ordered = together.sortWithinPartitions("slot", "home")
    with ExitStack() as kept:
        found = persisted(ordered.mapInArrow(FindCovers(), COVERED), kept)
        count, going_on = _counted(found, "NOT is_last")
        pairs = found.drop("is_last")
        yield _followed(pairs, kept) if going_on else Covers(pairs, count)


def entries(filters: DataFrame, covers: DataFrame) -> DataFrame:
    """The filters to keep: home, key, form, subscriptions, stands_for.

    `subscriptions` have exactly this filter, `stands_for` counts them and those it covers.
    """
    from pyspark.sql import functions as F  # noqa: N812

    # Read once: a plan repeats all that a table comes from wherever the table is read.
    ends = covers.selectExpr(
        "home",
        "inline(array(struct(cover AS key, subscriptions AS carried, false AS goes),"
        " struct(key, 0L AS carried, true AS goes)))",
    )
    sums = (F.sum("carried").alias("carried"), F.bool_or("goes").alias("goes"))
    carried = ends.groupBy("key", "home").agg(*sums)
    stands_for = F.col("subscriptions") + F.coalesce("carried", F.lit(0))
    joined = filters.join(carried, ["key", "home"], "left")
    joined = joined.where("goes IS NULL OR NOT goes")
    return joined.select("home", "key", "form", "subscriptions", stands_for.alias("stands_for"))


def mergers(entries: DataFrame, size: int, budget: float) -> DataFrame:
    """The entries that can be merged: home, key, cover (the merger's key), form (its own), degree.

    There are `size` entries. The degree of each merger (`merging.degree`) is `budget` at most.
    """
    shaped = entries.select("home", "key", "form").mapInArrow(NameShapes(), SHAPED)
    tasks = min(1 + size // _MERGED_BY_ONE, 8 * _cores(entries))
    together = gather_by(shaped, tasks, "home", "shape")
    ordered = together.sortWithinPartitions("shape", "home", "form")
    found = ordered.mapInArrow(MergeFilters(budget), MERGED)
    return found.select("home", "key", _key("form").alias("cover"), "form", "degree")


def with_mergers(entries: DataFrame, mergers: DataFrame) -> DataFrame:
    """The entries after merging, as `entries` has them; no filter equals a merger exactly."""
    from pyspark.sql import functions as F  # noqa: N812

    merger = mergers.select("home", "key", "cover", F.col("form").alias("merger"))
    own = F.when(F.col("cover").isNull(), F.col("subscriptions")).otherwise(0)
    joined = entries.join(merger, ["key", "home"], "left").select(
        "home",
        F.coalesce("cover", "key").alias("key"),
        F.coalesce("merger", "form").alias("form"),
        own.alias("subscriptions"),
        "stands_for",
    )
    sums = [F.sum(name).alias(name) for name in ("subscriptions", "stands_for")]
    return joined.groupBy("home", "key", "form").agg(*sums)


def merged_covers(covers: DataFrame, mergers: DataFrame) -> DataFrame:
    """The covers of filters after merging: home, key, cover."""
    from pyspark.sql import functions as F  # noqa: N812

    further = mergers.select("home", F.col("key").alias("cover"), F.col("cover").alias("merger"))
    followed = covers.join(further, ["cover", "home"], "left").select(
        "home", "key", F.coalesce("merger", "cover").alias("cover")
    )
    return followed.union(mergers.select("home", "key", "cover"))


def members(keyed: DataFrame, covers: DataFrame) -> DataFrame:
    """The entry of each subscription: id, home, key, entry (null for one that matches nothing).

    Its filter is the entry's if key and entry are the same, and covered by it otherwise.
    """
    from pyspark.sql import functions as F  # noqa: N812

    # Forms need not travel: only whether anything can match.
    alive = F.col("form") != F.lit(_NOTHING)
    named = keyed.select("id", "home", "key", alive.alias("alive"))
    joined = named.join(covers, ["key", "home"], "left")
    entry = F.when(F.col("alive"), F.coalesce("cover", "key")).alias("entry")
    return joined.select("id", "home", "key", entry)


def _followed(found: DataFrame, kept: ExitStack) -> Covers:
    """Covers across groups: one a filter, followed until it is one that is kept.

    Each round follows covers twice as far. Only filters that accept the same in different forms can
    stand in a circle; those that lead into one are left out, and so kept.
    """
    from pyspark.sql import functions as F  # noqa: N812

    # Keys first: they differ, which is what sorting likes.
    sums = (F.min("cover").alias("cover"), F.first("subscriptions").alias("subscriptions"))
    way = persisted(found.groupBy("key", "home").agg(*sums), kept)
    for number in range(COVER_ROUNDS_MAX):
        further = way.select("home", F.col("key").alias("cover"), F.col("cover").alias("next"))
        joined = way.join(further, ["cover", "home"], "left")
        cover, more = F.coalesce("next", "cover").alias("cover"), F.col("next").isNotNull()
        names = ("home", "key", cover, "subscriptions")
        before, way = way, joined.select(*names, more.alias("more"))
        way = persisted(way, kept) if number < _ROUNDS_PLANNED else computed(way)
        count, going_on = _counted(way, "more")
        before.unpersist()  # The counted rows are held as a whole.
        if not going_on:
            return Covers(way.drop("more"), count)
    last = way.select("home", F.col("key").alias("cover"))
    ended = way.drop("more").join(last, ["cover", "home"], "left_anti")
    return Covers(ended, ended.count())


def _counted(table: DataFrame, condition: str) -> tuple[int, int]:
    """The number of rows, and the number of those that meet a condition."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = table.agg(F.count(F.lit(1)), F.count_if(F.expr(condition))).first()
    assert sums is not None, "an aggregate without keys has one row"
    return sums[0], sums[1]


def _cores(frame: DataFrame) -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
