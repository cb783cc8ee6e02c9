"""The job `report`: deliveries in, tables of figures and a page out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sapwood.errors import InputError
from sapwood.pipeline.journals.places import is_address, is_journal
from sapwood.pipeline.report.figures import (
    crossings_by_link,
    dead,
    delays,
    fan_out,
    fan_out_classes,
    rates,
    served,
    skew,
)
from sapwood.pipeline.report.inputs import read_rows, read_sizes
from sapwood.pipeline.report.pages import PageFigures, Totals, page
from sapwood.pipeline.report.sizes import figures_of, peaks, states
from sapwood.pipeline.results.output import check_table, local_path, stored_table
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import persisted, plan_of
from sapwood.pipeline.tables.schemas import DELIVERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.report.size_page import SizeFigures

TOP: Final = 20
"""Subscriptions, and links, that the page shows."""

_TABLES: Final = (
    "served",
    "fan_out_classes",
    "skew",
    "rates",
    "delays",
    "dead",
    "links",
    "table_sizes",
    "table_peaks",
)
PAGE: Final = "report.html"

_COUNTED: Final = (
    ("served", "publications", "0"),
    ("fan_out", "subscriptions", "0"),
    ("published", "0", "0"),
    ("subscribed", "0", "0"),
    ("dead", "0", "0"),
    ("links", "crossings", "needless"),
)
"""The tables that totals are taken from, with the sums besides the rows of each."""


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """The summary of a report job; `page` is the file with the page."""

    totals: Totals
    out: str
    page: str


@dataclass(frozen=True, slots=True)
class ReportJob:
    """Turn deliveries into figures.

    All paths are JSON Lines or Parquet, as the other jobs and commands write them. `publications`
    (id, published_at) give rates, the publications that no subscription accepts and, where
    deliveries have the time `delivered_at`, delays; `subscriptions` (id) give the dead ones,
    `crossings` (link, needed) the crossings of links without need. `table_sizes` (broker, table,
    at, entries) give the sizes of routing tables: folders of journals, too, and where none is
    named, the journal of `publications`. `page` must be on this machine.
    """

    deliveries: str
    out: str
    publications: str | None = None
    subscriptions: str | None = None
    crossings: str | None = None
    page: str | None = None
    table_sizes: tuple[str, ...] = ()

    def run(self, spark: SparkSession) -> ReportSummary:
        """Write the figures and the page. Raises `InputError` for inputs that cannot be used."""
        place = local_path(self.page or f"{self.out.rstrip('/')}/{PAGE}")
        if place is None:
            raise InputError(f"{self.out} is not on this machine; name a file with --page")
        check_table(spark, f"{self.out}/totals", list(Totals.__dataclass_fields__)[:1])
        with spark_faults(), ExitStack() as kept:
            found = self._tables(spark, kept)
            sized = self._table_sizes(spark, kept)
            stored = self._written(found | sized.tables)
            figures = replace(_figures(stored), sizes=sized.figures(stored))
            totals = _totals(found | stored, figures)
            self._keep(totals, spark)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page(totals, figures), encoding="utf-8")
        return ReportSummary(totals, self.out, str(place))

    def explain(self, spark: SparkSession) -> str:
        """The physical plans of all tables of figures, by name; nothing is written."""
        with spark_faults(), ExitStack() as kept:
            found = self._tables(spark, kept) | self._table_sizes(spark, kept).tables
            return "\n".join(f"== {name} ==\n{plan_of(table)}" for name, table in found.items())

    def _tables(self, spark: SparkSession, kept: ExitStack) -> dict[str, DataFrame]:
        """The tables of figures by name; those that are read more than once are kept."""
        delivered = read_rows(spark, self.deliveries, f"{DELIVERIES}, delivered_at TIMESTAMP")
        found = {
            "served": persisted(served(delivered), kept),
            "fan_out": persisted(fan_out(delivered), kept),
        }
        published = None
        if self.publications is not None:
            published = read_rows(spark, self.publications, "id STRING, published_at TIMESTAMP")
            found["published"] = published = persisted(published, kept)
            found["rates"] = rates(found["fan_out"], published)
            found["delays"] = delays(delivered, published)
        if self.subscriptions is not None:
            subscribed = persisted(read_rows(spark, self.subscriptions, "id STRING"), kept)
            found["subscribed"] = subscribed
            found["dead"] = dead(found["served"], subscribed)
        if self.crossings is not None:
            crossed = read_rows(spark, self.crossings, "link STRING, needed BOOLEAN")
            found["links"] = crossings_by_link(crossed)
        found["fan_out_classes"] = fan_out_classes(found["fan_out"], published)
        found["skew"] = skew(found["served"])
        return found

    def _table_sizes(self, spark: SparkSession, kept: ExitStack) -> _Sized:
        """The tables of figures of routing tables, where there is a place to look for them."""
        places = self.table_sizes
        published = self.publications
        if not places and published is not None and not is_address(published):
            places = (published,) if is_journal(published) else ()
        if not places:
            return _Sized()
        sizes, without = read_sizes(spark, places)
        sizes = persisted(sizes, kept)
        held = persisted(states(sizes), kept)
        return _Sized({"table_sizes": sizes, "table_peaks": peaks(held)}, held, without)

    def _written(self, found: dict[str, DataFrame]) -> dict[str, DataFrame]:
        """Write the tables; the page is drawn from the written ones."""
        stored: dict[str, DataFrame] = {}
        for name in _TABLES:
            if name in found:
                stored[name] = stored_table(found[name], f"{self.out}/{name}")
        return stored

    def _keep(self, totals: Totals, spark: SparkSession) -> None:
        """Write the totals as well."""
        schema = ", ".join(f"{name} {_sql(name)}" for name in asdict(totals))
        table = spark.createDataFrame([tuple(asdict(totals).values())], schema)
        stored_table(table.coalesce(1), f"{self.out}/totals")


class _Sums(NamedTuple):
    """The sums of a table: its rows, the sum and the maximum of sizes, the sum of parts."""

    rows: int | None = 0
    size: int | None = 0
    most: int | None = 0
    part: int | None = 0


@dataclass(frozen=True, slots=True)
class _Sized:
    """Tables of figures of routing tables, what these held, and the journals that have none."""

    tables: dict[str, DataFrame] = field(default_factory=dict)
    states: DataFrame | None = None
    without: tuple[str, ...] = ()

    def figures(self, stored: dict[str, DataFrame]) -> SizeFigures | None:
        """The figures of table sizes for the page; `None` where none were requested."""
        if self.states is None:
            return None
        return figures_of(self.states, stored["table_peaks"], self.without)


def _totals(tables: Mapping[str, DataFrame], figures: PageFigures) -> Totals:
    """Count what there is in the tables, in all of them at once."""
    from pyspark.sql import functions as F  # noqa: N812

    counted = [
        tables[name].selectExpr(f"'{name}' AS name", f"{size} AS size", f"{part} AS part")
        for name, size, part in _COUNTED
        if name in tables
    ]
    totals = (F.count(F.lit(1)), F.sum("size"), F.max("size"), F.sum("part"))
    rows = reduce(lambda one, other: one.unionByName(other), counted).groupBy("name").agg(*totals)
    # A table without rows is in no group.
    sums = dict.fromkeys(tables, _Sums()) | {name: _Sums(*row) for name, *row in rows.collect()}
    nothing = _Sums(None, None, None, None)
    served, fan_out = sums["served"], sums["fan_out"]
    links = sums.get("links", nothing)
    return Totals(
        deliveries=served.size or 0,
        publications_wanted=fan_out.rows or 0,
        subscriptions_served=served.rows or 0,
        fan_out_max=fan_out.most or 0,
        top_share=figures.skew[0][1] if figures.skew else 0.0,
        published=sums.get("published", nothing).rows,
        subscribed=sums.get("subscribed", nothing).rows,
        dead=sums.get("dead", nothing).rows,
        crossings=links.size,
        needless=links.part,
    )


def _figures(stored: dict[str, DataFrame]) -> PageFigures:
    from pyspark.sql import functions as F  # noqa: N812

    most = stored["served"].orderBy(F.desc("publications"), "subscription").limit(TOP)
    over_time: tuple[Any, ...] = ()
    if "rates" in stored:
        start = F.date_format("start", "yyyy-MM-dd HH:mm:ss").alias("start")
        over_time = _few(stored["rates"].select(start, "publications", "deliveries"))
    links: tuple[Any, ...] = ()
    if "links" in stored:
        worst = stored["links"].orderBy(F.desc("needless"), "link").limit(TOP)
        links = tuple(tuple(row) for row in worst.collect())
    quantiles: tuple[Any, ...] = ()
    if "delays" in stored:
        quantiles = _few(stored["delays"])
    nobody: tuple[str, ...] = ()
    if "dead" in stored:
        some = stored["dead"].orderBy("subscription").limit(TOP)
        nobody = tuple(row["subscription"] for row in some.collect())
    return PageFigures(
        top=tuple(tuple(row) for row in most.collect()),
        fan_out=_few(stored["fan_out_classes"]),
        skew=_few(stored["skew"]),
        rates=over_time,
        links=links,
        delays=quantiles,
        dead=nobody,
    )


def _few(table: DataFrame) -> tuple[Any, ...]:
    """The rows of a small table, in the order of its columns."""
    return tuple(sorted(tuple(row) for row in table.collect()))


def _sql(name: str) -> str:
    return "DOUBLE" if name == "top_share" else "BIGINT"
