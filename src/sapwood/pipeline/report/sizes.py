"""Table sizes of brokers to figures: what tables held over time, at the end and at most.

Every step is a function from DataFrame to DataFrame, as in `reporting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sapwood.pipeline.report.size_page import ALL, UNCONFIRMED, Peak, SizeFigures, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INTERVALS_MAX: Final = 120
"""Intervals into which the time of all sizes is cut: as many as a plot of a hand's width can
show."""

BROKERS_MAX: Final = 40
"""Brokers that the page shows: five beside each other make eight rows, which fit a screen."""


def states(sizes: DataFrame) -> DataFrame:
    """The sizes of all tables of a broker whenever one changed: broker, table, at, entries.

    `sizes` has the same columns, and a row where a table changed. The table `ALL` is the sum of the
    others, without entries counted there already (`UNCONFIRMED`).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    key = ["broker", "table", "at"]
    said = sizes.groupBy(*key).agg(F.max("entries").alias("entries"))
    times = sizes.select("broker", "at").distinct()
    tables = sizes.select("broker", "table").distinct()
    so_far = Window.partitionBy("broker", "table").orderBy("at")
    held = F.coalesce(F.last("entries", ignorenulls=True).over(so_far), F.lit(0))
    each = times.join(tables, "broker").join(said, key, "left").select(*key, held.alias("entries"))
    together = (
        each.where(F.col("table") != UNCONFIRMED)
        .groupBy("broker", F.lit(ALL).alias("table"), "at")
        .agg(F.sum("entries").alias("entries"))
    )
    return each.unionByName(together)


def peaks(states: DataFrame) -> DataFrame:
    """The last and the largest size of each table: broker, table, latest, largest, largest_at.

    `largest_at` is when the table was so large for the first time.
    """
    from pyspark.sql import functions as F  # noqa: N812

    micros = F.unix_micros("at")
    found = states.groupBy("broker", "table").agg(
        F.max_by("entries", "at").alias("latest"),
        F.max(F.struct("entries", (-micros).alias("before"))).alias("most"),
    )
    return found.select(
        "broker",
        "table",
        "latest",
        F.col("most.entries").alias("largest"),
        F.timestamp_micros(-F.col("most.before")).alias("largest_at"),
    )


def outline(states: DataFrame) -> DataFrame:
    """The states that a plot needs to look as if it had all of them: broker, table, at, entries.

    Of each broker and interval of time those in which its tables together were largest and
    smallest, the first and the last; time is cut into at most about `INTERVALS_MAX` intervals.
    """
    from pyspark.sql import functions as F  # noqa: N812

    micros = F.unix_micros("at")
    span = states.agg(F.min(micros).alias("first"), F.max(micros).alias("last"))
    length = F.floor((F.col("last") - F.col("first")) / INTERVALS_MAX) + 1
    size = F.struct("entries", "at")
    chosen = (
        states.where(F.col("table") == ALL)
        .crossJoin(F.broadcast(span))
        .groupBy("broker", F.floor((micros - F.col("first")) / length))
        .agg(
            F.array(F.min("at"), F.max("at"), F.max_by("at", size), F.min_by("at", size)).alias(
                "times"
            )
        )
        .select("broker", F.explode("times").alias("at"))
    )
    return states.join(chosen, ["broker", "at"], "left_semi")


def figures_of(states: DataFrame, peaks: DataFrame, without: Sequence[str]) -> SizeFigures:
    """The figures of table sizes and their `peaks`, of the brokers with the largest tables.

    `without` are the journals that have no table sizes. `states` is read several times.
    """
    from pyspark.sql import functions as F  # noqa: N812

    brokers = F.count_distinct("broker").alias("brokers")
    whole = states.agg(brokers, _moment(F.min("at")), _moment(F.max("at"))).first()
    assert whole is not None, "an aggregate without keys has one row"
    totals = peaks.where(F.col("table") == ALL)
    largest = totals.orderBy(F.desc("largest"), "broker").limit(BROKERS_MAX).select("broker")
    names = [row["broker"] for row in largest.collect()]
    is_shown = F.col("broker").isin(names)
    second = (F.unix_micros("at") / 1e6).alias("second")
    drawn = outline(states.where(is_shown)).select("broker", "table", second, "entries")
    return SizeFigures(
        brokers=whole["brokers"],
        period=(whole[1] or "", whole[2] or ""),
        states=tuple(State(*row) for row in sorted(drawn.collect(), key=itemgetter("second"))),
        peaks=tuple(Peak(*row) for row in peaks.where(is_shown).drop("largest_at").collect()),
        without=tuple(without),
    )


def _moment(time: Any) -> Any:
    """A time as the page writes it."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.date_format(time, "yyyy-MM-dd HH:mm:ss")
