"""The figures of deliveries: rates, fan-out, dead subscriptions, skew, delays, crossings.

Every step is a function from DataFrame to DataFrame; the figures stay tables of any size, and only
rows for a page are cut down (`pages`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RATES: Final = "start TIMESTAMP, publications BIGINT, deliveries BIGINT"
INTERVALS_MAX: Final = 120
"""Intervals into which the time of all publications is cut: points of a line that can be read."""

SKEW_STEPS: Final = 100
"""Parts into which subscriptions are cut, from the most to the least served."""

QUANTILES: Final = (0.5, 0.9, 0.99, 0.999, 1.0)
"""Shares of all deliveries whose longest delay is shown."""


def served(deliveries: DataFrame) -> DataFrame:
    """The number of publications for each subscription: subscription, publications."""
    from pyspark.sql import functions as F  # noqa: N812

    return deliveries.groupBy("subscription").agg(F.count(F.lit(1)).alias("publications"))


def fan_out(deliveries: DataFrame) -> DataFrame:
    """The number of subscriptions for each publication: publication, subscriptions."""
    from pyspark.sql import functions as F  # noqa: N812

    return deliveries.groupBy("publication").agg(F.count(F.lit(1)).alias("subscriptions"))


def fan_out_classes(fan_out: DataFrame, published: DataFrame | None) -> DataFrame:
    """Publications by fan-out in powers of two: low, high, publications.

    The class 0 to 0 is there where it is known what was `published` (id).
    """
    from pyspark.sql import functions as F  # noqa: N812

    reached = fan_out.select("subscriptions")
    if published is not None:
        without = published.join(fan_out, F.col("id") == F.col("publication"), "left_anti")
        reached = reached.unionByName(
            without.select(F.lit(0).cast("bigint").alias("subscriptions"))
        )
    power = F.floor(F.log2(F.greatest("subscriptions", F.lit(1)).cast("double")))
    low = F.when(F.col("subscriptions") > 0, F.pow(F.lit(2), power)).otherwise(0).cast("bigint")
    classed = reached.groupBy(low.alias("low")).agg(F.count(F.lit(1)).alias("publications"))
    high = F.greatest(2 * F.col("low") - 1, F.lit(0)).alias("high")
    return _few(classed.select("low", high, "publications"), "low")


def dead(served: DataFrame, subscribed: DataFrame) -> DataFrame:
    """The subscriptions (id) that got nothing: subscription."""
    from pyspark.sql import functions as F  # noqa: N812

    left = subscribed.join(served, F.col("id") == F.col("subscription"), "left_anti")
    return left.select(F.col("id").alias("subscription"))


def skew(served: DataFrame) -> DataFrame:
    """The skew of deliveries: part (of the subscriptions, most served first), share of all."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    # Few rows are ordered in one place: subscriptions with equal counts count together.
    equal = served.groupBy("publications").agg(F.count(F.lit(1)).alias("subscriptions"))
    order = Window.orderBy(F.desc("publications"))
    everything = Window.partitionBy()
    carried = F.col("publications") * F.col("subscriptions")
    shares = equal.select(
        (F.sum("subscriptions").over(order) / F.sum("subscriptions").over(everything)).alias(
            "part"
        ),
        (F.sum(carried).over(order) / F.sum(carried).over(everything)).alias("share"),
    )
    step = F.ceil(F.col("part") * SKEW_STEPS) / SKEW_STEPS
    return _few(shares.groupBy(step.alias("part")).agg(F.max("share").alias("share")), "part")


def rates(fan_out: DataFrame, published: DataFrame) -> DataFrame:
    """Publications and deliveries by interval of time (`RATES`); empty where no time is known.

    `published` has the columns id and published_at. Intervals are of equal length, whole seconds,
    and at most about `INTERVALS_MAX`; where nothing was published there is no row.
    """
    from pyspark.sql import functions as F  # noqa: N812

    timed = published.where("published_at IS NOT NULL").select(
        "id", F.unix_timestamp("published_at").alias("second")
    )
    span = timed.agg(F.min("second").alias("first"), F.max("second").alias("last"))
    joined = timed.join(fan_out, F.col("id") == F.col("publication"), "left").crossJoin(
        F.broadcast(span)
    )
    length = F.floor((F.col("last") - F.col("first")) / INTERVALS_MAX) + 1
    at = F.floor((F.col("second") - F.col("first")) / length) * length + F.col("first")
    counted = joined.groupBy(F.timestamp_seconds(at).alias("start")).agg(
        F.count(F.lit(1)).alias("publications"),
        F.coalesce(F.sum("subscriptions"), F.lit(0)).alias("deliveries"),
    )
    return _few(counted, "start")


def delays(deliveries: DataFrame, published: DataFrame) -> DataFrame:
    """The delays of deliveries: quantile, delay_s, for each of `QUANTILES`; empty where unknown.

    `deliveries` has the columns publication and delivered_at, `published` id and published_at.
    The times come from two clocks, so a delay is as right as these agree. Quantiles are exact to a
    ten-thousandth of the number of deliveries.
    """
    from pyspark.sql import functions as F  # noqa: N812

    delivered = deliveries.where("delivered_at IS NOT NULL")
    both = delivered.join(published, F.col("publication") == F.col("id"))
    took = F.unix_micros("delivered_at") - F.unix_micros("published_at")
    found = F.percentile_approx(took, list(QUANTILES), 10_000)
    quantiles = both.where("published_at IS NOT NULL").agg(found.alias("all"))
    each = quantiles.select(F.posexplode("all").alias("place", "delay"))
    quantile = F.element_at(F.array(*map(F.lit, QUANTILES)), F.col("place") + 1)
    return each.select(quantile.alias("quantile"), (F.col("delay") / 1e6).alias("delay_s"))


def crossings_by_link(crossings: DataFrame) -> DataFrame:
    """Crossings of each link, and the number without need: link, crossings, needless.

    `crossings` has a row for each publication that crossed a link: `link` and `needed`, true if a
    subscription behind it accepts the publication. Raises `InputError` for a table without these
    columns.
    """
    from pyspark.sql import functions as F  # noqa: N812

    types = {field.name: field.dataType.typeName() for field in crossings.schema.fields}
    if types.get("needed") != "boolean" or "link" not in types:
        raise InputError(
            "a table of crossings has the columns link and needed (BOOLEAN); this one has "
            f"{', '.join(types)}"
        )
    return (
        crossings.groupBy(F.col("link").cast("string").alias("link"))
        .agg(F.count(F.lit(1)).alias("crossings"), F.count_if(~F.col("needed")).alias("needless"))
        .orderBy(F.desc("needless"), "link")
    )


def _few(rows: DataFrame, column: str) -> DataFrame:
    """A table of some hundred rows at most, in one piece, in the order of a column.

    Spark would read them again to cut them into pieces of a size.
    """
    return rows.coalesce(1).sortWithinPartitions(column)
