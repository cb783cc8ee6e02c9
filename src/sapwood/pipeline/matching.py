"""Publications and subscriptions to deliveries."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sapwood.pipeline.evaluation import MatchBatches, Output
from sapwood.pipeline.publications import Needs, Shape, select_read, shape_of
from sapwood.pipeline.schemas import COUNTS, DELIVERIES, HOMES, LISTS
from sapwood.pipeline.subscriptions import (
    DEFAULT_ENGINE,
    SubscriptionSet,
    compile_subscriptions,
    ship,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


OUTPUTS: Final = MappingProxyType(
    {
        Output.PAIRS: DELIVERIES,
        Output.LISTS: LISTS,
        Output.COUNTS: COUNTS,
        Output.HOMES: HOMES,
    }
)
"""The columns of each output."""


class PipelineWarning(UserWarning):
    """Something was set aside or cannot be seen by filters; the work goes on without it."""


def match(
    publications: DataFrame,
    subscriptions: DataFrame | SubscriptionSet,
    *,
    engine: str = DEFAULT_ENGINE,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """The deliveries: a row (`publication`, `subscription`) for each pair that matches.

    With another `output`: the list of subscriptions of each publication, or the count of
    publications of each subscription (see `Output`).

    `publications` has the columns `id` and `attributes` (see `sapwood.pipeline.schemas`), and may
    be a stream. `subscriptions` has the columns `id` and `filter`, and is compiled here and now, in
    the driver; hand in a `SubscriptionSet` to compile it once and use it more often. The order of
    the rows is not defined. Executors need the package `sapwood`.

    Null is the same as absent. A row that is no publication (no id, no attributes, NaN, a text that
    is no JSON object) is matched by nothing; `rejected_publications` lists those rows. Rejected
    subscriptions and arrays, which filters cannot see, are said once in a `PipelineWarning`.

    Raises `InputError` for tables that lack a column, and for attributes of a type that no filter
    can read (dates, timestamps, decimals, ...), with the column's name and what to cast it to.
    """
    shape = shape_of(publications)
    if isinstance(subscriptions, SubscriptionSet):
        compiled = subscriptions
    else:
        compiled = compile_subscriptions(subscriptions, engine=engine)
        _warn(shape, compiled)
    return match_compiled(publications, shape, compiled, output)


def match_compiled(
    publications: DataFrame,
    shape: Shape,
    compiled: SubscriptionSet,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """As `match`, without a warning."""
    ship(publications.sparkSession, compiled)
    return match_shipped(publications, shape, compiled, output)


def match_shipped(
    publications: DataFrame,
    shape: Shape,
    compiled: SubscriptionSet,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """As `match`, for a set that `subscriptions.ship` has brought to the executors.

    One `mapInArrow` does the work, and it receives the id and the attributes that some filter
    reads, nothing else: what costs is the way into Python, not the matching.
    """
    needs = Needs(compiled.attributes, compiled.documents)
    narrow, carried = select_read(publications, shape, needs)
    function = MatchBatches(compiled.name, carried, output)
    return gathered(narrow.mapInArrow(function, OUTPUTS[output]), output)


def gathered(told: DataFrame, output: Output) -> DataFrame:
    """What tasks tell, each of its part of the publications or subscriptions, put together."""
    from pyspark.sql import functions as F  # noqa: N812

    if output is Output.COUNTS:
        return told.groupBy("subscription").agg(F.sum("publications").alias("publications"))
    if output is Output.LISTS:
        parts = F.flatten(F.collect_list("subscriptions"))
        return told.groupBy("publication").agg(F.array_sort(parts).alias("subscriptions"))
    return told


def _warn(shape: Shape, compiled: SubscriptionSet) -> None:
    if compiled.rejected:
        first = compiled.rejected[0]
        warnings.warn(
            f"{len(compiled.rejected):,} subscriptions cannot be used, the first because of: "
            f"{first.reason} ({first.text}); compile_subscriptions() lists them all",
            PipelineWarning,
            stacklevel=3,
        )
    if shape.arrays:
        names = ", ".join(leaf.name for leaf in shape.arrays)
        warnings.warn(
            f"filters cannot see arrays, as if they were absent: {names}",
            PipelineWarning,
            stacklevel=3,
        )
