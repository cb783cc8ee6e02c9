"""Clustering: which subscriptions to home together, and the traffic of a sample it spares.

::

    near pairs ── clusters ── homes ── proposal          id, home, proposed
    sample ── match ── homes of each publication ──┬── before    publications x homes
                                                   └── after

Brokers send a publication once to each home that has a subscription for it, however many it has. So
subscriptions that accept the same publications cost least where they have the same home. Near pairs
are those of the job `similarity`; their worth is not estimated but counted: the sample is matched,
and for each publication the homes are counted that it has to reach, as they are and as proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import InputError
from sapwood.limits.pipeline import CLUSTER_PAIRS_MAX, NEAR_GROUP_FILTERS_MAX
from sapwood.pipeline.matching.match import match
from sapwood.pipeline.matching.publication_source import open_publications
from sapwood.pipeline.results.output import stored_table
from sapwood.pipeline.similarity.steps import cut_for, described, members, near
from sapwood.pipeline.similarity.workers import NOTHING_KNOWN, Known
from sapwood.pipeline.spark.frames import persisted
from sapwood.similarity.clustering import clusters, homes_for
from sapwood.similarity.near.bounds import least_similarity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_NEAR: Final = 0.6
"""The least proximity of filters that are proposed for one home."""

ROOM: Final = 1.1
"""Subscriptions that a home may get, as a multiple of an even share."""


class Clustering(NamedTuple):
    """The options of clustering: a `sample` of publications at a path, and the least proximity."""

    sample: str
    known: Known = NOTHING_KNOWN
    threshold: float = DEFAULT_NEAR


class Proposal(NamedTuple):
    """The result of clustering: the proposed homes, and the traffic that they spare.

    Of the `subscriptions` that can match anything, `moved` would get another home. `before` and
    `after` are the homes that the `publications` of the sample have to reach, all together.
    """

    out: str
    subscriptions: int
    moved: int
    homes: int
    publications: int
    before: int
    after: int

    @property
    def saved(self) -> float:
        """The share of the traffic between brokers and homes that the proposal spares."""
        return 1 - self.after / self.before if self.before else 0.0


def propose(
    spark: SparkSession, homed: DataFrame, clustering: Clustering, out: str, cores: int
) -> Proposal:
    """Propose homes for subscriptions (id, home, form), write the proposal, and count.

    Of more than `limits.pipeline.CLUSTER_PAIRS_MAX` near pairs the nearest are taken. Raises
    `InputError` for a threshold by which nothing can be ruled out, for subscriptions that all have
    one home, and for a sample that cannot be read.
    """
    from pyspark.sql import functions as F  # noqa: N812

    least_similarity(clustering.threshold)
    with ExitStack() as kept:
        plain = homed.select("id", F.col("form").alias("attributes"))
        keys = members(plain).select("id", "key")
        whole = persisted(homed.select("id", "home").join(keys, "id"), kept)
        filters = persisted(described(members(plain), clustering.known), kept)
        assigned = _assigned(spark, whole, filters, clustering, cores)
        proposed = whole.join(assigned, "key", "left").select(
            "id", "home", F.coalesce("proposed", "home").alias("proposed"), "key"
        )
        proposed = persisted(proposed, kept)
        stored_table(proposed.select("id", "home", "proposed"), out)
        source = kept.enter_context(open_publications(spark, clustering.sample))
        read = source.counted().good
        pairs = match(source.good, filters.select("key", "filter", "xpath", "namespaces")
                      .withColumnRenamed("key", "id"))  # fmt: skip
        ways = proposed.groupBy("key").agg(
            F.collect_set("home").alias("home"), F.collect_set("proposed").alias("proposed")
        )
        reached = pairs.join(ways, pairs["subscription"] == ways["key"]).select(
            "publication", "home", "proposed"
        )
        sums = {}
        for name in ("home", "proposed"):
            each = reached.select("publication", F.explode(name).alias("to")).distinct()
            sums[name] = each.count()
        counts = proposed.where("key IS NOT NULL").agg(
            F.count(F.lit(1)), F.count_if(F.col("home") != F.col("proposed")),
            F.countDistinct("home"),
        ).first()  # fmt: skip
        assert counts is not None, "an aggregate without keys has one row"
    return Proposal(out, counts[0], counts[1], counts[2], read, sums["home"], sums["proposed"])


def _assigned(
    spark: SparkSession,
    whole: DataFrame,
    filters: DataFrame,
    clustering: Clustering,
    cores: int,
) -> DataFrame:
    """For each key the home that is proposed: key, proposed."""
    from pyspark.sql import functions as F  # noqa: N812

    cut = cut_for(filters, cores, NEAR_GROUP_FILTERS_MAX)
    found = near(filters, cut, clustering.known, clustering.threshold, cores)
    nearest = found.orderBy(F.desc("proximity"), "one", "other").limit(CLUSTER_PAIRS_MAX)
    rows = whole.where("key IS NOT NULL").groupBy("key", "home").count().collect()
    homes: dict[str, dict[str, int]] = {}
    for row in rows:
        homes.setdefault(row["key"], {})[row["home"]] = row["count"]
    keys = sorted(homes)
    numbers = {key: number for number, key in enumerate(keys)}
    weights = [sum(homes[key].values()) for key in keys]
    names = sorted({home for own in homes.values() for home in own})
    if len(names) < 2:
        raise InputError(
            "all subscriptions have one home, so none can be homed together; name several --home"
        )
    most = max(1, int(ROOM * sum(weights) / len(names)))
    pairs = nearest.select("one", "other").toArrow()
    linked = zip(*(_numbers(column.to_pylist(), numbers) for column in pairs.columns), strict=True)
    cluster = clusters(weights, linked, most)
    chosen = homes_for(cluster, [homes[key] for key in keys], names, most)
    return spark.createDataFrame(
        list(zip(keys, chosen, strict=True)), "key STRING, proposed STRING"
    )


def _numbers(keys: Sequence[str], numbers: dict[str, int]) -> list[int]:
    return [numbers[key] for key in keys]
