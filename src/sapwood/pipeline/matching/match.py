"""The deliveries of publications and subscriptions as a DataFrame: `match`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sapwood.pipeline.matching.output import OUTPUTS, Output
from sapwood.pipeline.matching.subscriptions import (
    DEFAULT_ENGINE,
    SubscriptionSet,
    compile_subscriptions,
    ship,
)
from sapwood.pipeline.matching.workers import MatchWorker, RowGroupMatchWorker
from sapwood.pipeline.tables.lake import Lake, table_of_lake
from sapwood.pipeline.tables.publications import Needs, select_read, shape_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sapwood.pipeline.tables.lake import Publications


class PipelineWarning(UserWarning):
    """Something was set aside or cannot be seen by filters; the work goes on without it."""


def match(
    publications: Publications,
    subscriptions: DataFrame | SubscriptionSet,
    *,
    engine: str = DEFAULT_ENGINE,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """The deliveries: a row (`publication`, `subscription`) for each pair that matches.

    With another `output`: the list of subscriptions of each publication, or the count of
    publications of each subscription (see `Output`).

    `publications` has the columns `id` and `attributes` (`sapwood.pipeline.tables.schemas`), and
    may be a stream; if they are a lake (`open_lake`), workers read its files by themselves, which
    costs less. `subscriptions` has the columns `id` and `filter`, and is compiled here and now, in
    the driver; hand in a `SubscriptionSet` to compile it once and use it more often. The order of
    the rows is not defined. Executors need the package `sapwood`.

    Null is the same as absent. A row that is no publication (no id, no attributes, NaN, a text that
    is no JSON object) is matched by nothing; `rejected_publications` lists those rows. Rejected
    subscriptions give one `PipelineWarning`.

    Raises `InputError` for tables that lack a column, and for attributes of a type that no filter
    can read (dates, timestamps, decimals, ...), with the column's name and what to cast it to.
    """
    compiled = compiled_for(publications, subscriptions, engine)
    return match_compiled(publications, compiled, output)


def compiled_for(
    publications: Publications, subscriptions: DataFrame | SubscriptionSet, engine: str
) -> SubscriptionSet:
    """The subscriptions, compiled; a `PipelineWarning` names what cannot be used or seen."""
    if isinstance(subscriptions, SubscriptionSet):
        return subscriptions
    shape_of(table_of_lake(publications))  # raises an error if it is no table of publications
    compiled = compile_subscriptions(subscriptions, engine=engine)
    _warn(compiled)
    return compiled


def match_compiled(
    publications: Publications, compiled: SubscriptionSet, output: Output = Output.PAIRS
) -> DataFrame:
    """As `match`, without a warning.

    One `mapInArrow` does the work. It receives the id and the attributes that some filter reads,
    nothing else, as the way into Python costs more than the matching. For a lake it receives the
    numbers of parts, and reads them itself.
    """
    if isinstance(publications, Lake) and publications.parts is not None:
        work = row_group_worker(publications, compiled, output)
        rows = publications.tasks().mapInArrow(work, OUTPUTS[output])
    else:
        table = table_of_lake(publications)
        ship(table.sparkSession, compiled)
        needs = Needs(compiled.attributes, compiled.documents)
        narrow, carried = select_read(table, shape_of(table), needs)
        rows = narrow.mapInArrow(MatchWorker(compiled.name, carried, output), OUTPUTS[output])
    # Each task knows all that matches its publications, so nothing has to be put together.
    return rows if output is Output.LISTS else combined(rows, output)


def row_group_worker(
    lake: Lake, compiled: SubscriptionSet, output: Output, *, coded: bool = False
) -> RowGroupMatchWorker:
    """The worker for the tasks of a lake; the subscriptions are shipped to the executors."""
    ship(lake.table.sparkSession, compiled)
    needs = Needs(compiled.attributes, compiled.documents)
    read = lake.reader(shape_of(lake.table), needs)
    work = MatchWorker(compiled.name, read.reader.carried, output, coded=coded)
    return RowGroupMatchWorker(read, work)


def combined(rows: DataFrame, output: Output) -> DataFrame:
    """The output of all tasks as one, where each task knows a part of the matches only."""
    from pyspark.sql import functions as F  # noqa: N812

    if output is Output.COUNTS:
        return rows.groupBy("subscription").agg(F.sum("publications").alias("publications"))
    if output is Output.LISTS:
        parts = F.flatten(F.collect_list("subscriptions"))
        return rows.groupBy("publication").agg(F.array_sort(parts).alias("subscriptions"))
    return rows


def _warn(compiled: SubscriptionSet) -> None:
    if compiled.rejected:
        first = compiled.rejected[0]
        warnings.warn(
            f"{len(compiled.rejected):,} subscriptions cannot be used, the first because of: "
            f"{first.reason} ({first.text}); compile_subscriptions() lists them all",
            PipelineWarning,
            stacklevel=4,
        )
