"""Matching in plain Spark SQL, as a good data engineer would write it: the peer of `match`.

A subscription is an equality and some ranges of numbers. Publications are exploded into a row for
each of their pairs of attribute and value, these are joined with the subscriptions' equalities, and
the ranges are looked at afterwards::

    publications ── explode ── (name, value) ──┐
                                               ├── join ── where ranges ── pairs
    subscriptions ── rarest equality ──────────┘

What makes it fast is in it: of several equalities the rarest is joined, the others are ranges of
one number; numbers lie in an array, so that a range is a look at a place and no search by name; the
subscriptions are broadcast. Of the two formulations `join` is the plain one. `grouped` collects the
subscriptions of each equality into an array before the join, so that a publication meets each
equality once, and loops over them in compiled code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import InvalidValueError
from sapwood.model.filter import Filter
from sapwood.model.subscription import Subscription
from sapwood.pipeline.matching.output import Output

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMULATIONS: Final = ("join", "grouped")


class Range(NamedTuple):
    """A range of numbers, both ends included; an equality where they are the same."""

    name: str
    low: float
    high: float


class Wanted(NamedTuple):
    """A subscription: the equality that is joined, and the ranges that are looked at after it."""

    id: str
    name: str
    value: str
    ranges: tuple[Range, ...]


def wanted(subscriptions: Iterable[Subscription]) -> list[Wanted]:
    """The subscriptions as equality and ranges, the rarest of several equalities joined.

    Raises `InvalidValueError` for a subscription that is anything else.
    """
    parted = [(subscription.id, _parts(subscription)) for subscription in subscriptions]
    count = Counter(equality for _, (equalities, _) in parted for equality in equalities)
    found = []
    for id_, (equalities, ranges) in parted:
        # A text cannot be looked at as a range of numbers, so it is joined if there is one.
        texts = [equality for equality in equalities if isinstance(equality[1], str)]
        rarest = min(texts or equalities, key=lambda one: (count[one], str(one)))
        others = tuple(
            Range(name, float(value), float(value))
            for name, value in equalities
            if (name, value) != rarest
        )
        found.append(Wanted(id_, rarest[0], str(rarest[1]), (*ranges, *others)))
    return found


def _parts(
    subscription: Subscription,
) -> tuple[list[tuple[str, str | int | float]], tuple[Range, ...]]:
    """Equalities and ranges of a subscription."""
    filter_ = subscription.filter
    conjunctions = filter_.conjunctions if isinstance(filter_, Filter) else ()
    equalities: list[tuple[str, str | int | float]] = []
    ranges: list[Range] = []
    if len(conjunctions) == 1:
        for name, constraint in conjunctions[0].constraints:
            points = constraint.points()
            if points is not None and len(points) == 1:
                equalities.append((name, points[0]))
            elif len(constraint.numbers) == 1 and points is None:
                interval = constraint.numbers[0]
                ranges.append(Range(name, interval.low, interval.high))
    texts = sum(isinstance(value, str) for _, value in equalities)
    if not equalities or texts > 1:
        raise InvalidValueError(
            subscription.id, "the peer takes one equality with a text, or with numbers, and ranges"
        )
    return equalities, tuple(ranges)


def wanted_table(
    spark: SparkSession, subscriptions: Sequence[Wanted], names: Sequence[str]
) -> DataFrame:
    """The peer's subscriptions: subscription, name, value, and place, low, high of each range.

    Places are those of attributes among `names`. A subscription with fewer ranges than others has
    its last one again.
    """
    import pyarrow as pa

    places = {name: place for place, name in enumerate(names)}
    most = ranges_of(subscriptions)
    columns: dict[str, list[str] | list[int] | list[float]] = {
        "subscription": [each.id for each in subscriptions],
        "name": [each.name for each in subscriptions],
        "value": [each.value for each in subscriptions],
    }
    for number in range(most):
        some = [each.ranges[min(number, len(each.ranges) - 1)] for each in subscriptions]
        columns[f"place{number}"] = [places[each.name] for each in some]
        columns[f"low{number}"] = [each.low for each in some]
        columns[f"high{number}"] = [each.high for each in some]
    return spark.createDataFrame(pa.table(columns))


def ranges_of(subscriptions: Sequence[Wanted]) -> int:
    """The most ranges that one of the subscriptions has."""
    return max((len(each.ranges) for each in subscriptions), default=0)


def peer_match(
    publications: DataFrame,
    table: DataFrame,
    names: Sequence[str],
    joined: Sequence[str],
    formulation: str,
    *,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """The pairs (publication, subscription), or another output; lists are in any order.

    `publications` has id and attributes, a struct. `names` are the attributes in which ranges are,
    in the order of the places in `table`; `joined` those with equalities.
    """
    from pyspark.sql import functions as F  # noqa: N812

    numbers = F.array(*(F.col(f"attributes.{name}").cast("double") for name in names))
    pairs = F.array(
        *(
            F.struct(
                F.lit(name).alias("name"),
                F.col(f"attributes.{name}").cast("string").alias("value"),
            )
            for name in joined
        )
    )
    present = F.filter(pairs, lambda pair: pair["value"].isNotNull())
    exploded = publications.select(
        F.col("id").alias("publication"), numbers.alias("numbers"), F.explode(present).alias("pair")
    ).select("publication", "numbers", "pair.name", "pair.value")
    most = sum(column.startswith("place") for column in table.columns)
    if formulation == "join":
        met = exploded.join(F.broadcast(table), ["name", "value"])
        return _told(met.where(_in_ranges(most, "")).select("publication", "subscription"), output)
    rest = [column for column in table.columns if column not in {"name", "value"}]
    lists = table.groupBy("name", "value").agg(F.collect_list(F.struct(*rest)).alias("all"))
    met = exploded.join(F.broadcast(lists), ["name", "value"])
    each = met.select("publication", "numbers", F.explode("all").alias("one"))
    held = each.where(_in_ranges(most, "one."))
    return _told(held.select("publication", "one.subscription"), output)


def _told(pairs: DataFrame, output: Output) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    if output is Output.LISTS:
        listed = F.collect_list("subscription").alias("subscriptions")
        return pairs.groupBy("publication").agg(listed)
    if output is Output.COUNTS:
        return pairs.groupBy("subscription").agg(F.count(F.lit(1)).alias("publications"))
    return pairs


def _in_ranges(most: int, prefix: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    condition = F.lit(True)  # noqa: FBT003 - a literal of SQL
    for number in range(most):
        value = F.get("numbers", F.col(f"{prefix}place{number}"))
        low, high = F.col(f"{prefix}low{number}"), F.col(f"{prefix}high{number}")
        condition &= value.between(low, high)
    return condition
