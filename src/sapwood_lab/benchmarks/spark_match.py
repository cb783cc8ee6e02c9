"""The pipeline's `match` beside plain Spark SQL, beside itself on fewer cores, and beside no Spark.

Three questions about the same publications and subscriptions, which are Parquet files for all: how
many times the rate of each plain formulation (`spark_peer`) it has; how much faster two tasks at a
time are than one; and what a publication of a table costs more than `Index.match_many` in one
process and the way into Python and back, which is measured by a `mapInArrow` that changes nothing.
The first two questions concern a lake, whose files workers read, for each output: pairs, a list for
each publication, and a count for each subscription, once thrown away where Spark has them and once
written into Parquet files. The third concerns pairs of a table, whose rows the JVM brings.

Each master has a process of its own, this module run as a program. In it the things that are
compared take turns, so that other work on the machine is in all of them. `local[1]` is measured
twice, because it is more than one core: the JVM reads and writes the next batch while the Python
worker matches. *On one core* it and all it starts are held to one.
"""

from __future__ import annotations

import operator
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from sapwood.errors import InvalidValueError
from sapwood.matching.index import Index
from sapwood.pipeline.matching.output import Output
from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.benchmarks.processes import used
from sapwood_lab.benchmarks.spark_peer import (
    FORMULATIONS,
    Wanted,
    peer_match,
    wanted,
    wanted_table,
)
from sapwood_lab.workload.records import workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.matching.subscriptions import SubscriptionSet

WORKLOADS: Final = ("mix", "eq")
"""The workloads whose subscriptions all have an equality, which is what the peer joins."""

SUBSCRIPTIONS: Final = 100_000
PUBLICATIONS: Final = 1_000_000
PEER_PUBLICATIONS: Final = 40_000
"""The publications for the peer: with all of them it would take an hour."""

FEW: Final = 256
"""And so few, for what it costs to begin (its subscriptions are broadcast in every run). The
difference is what the peer is held to, which is its rate with all publications."""

ROUNDS: Final = 3
ALONE: Final = 5_000
"""Publications that one process matches without Spark."""

SEEDS: Final = (1, 2)
_SAMPLE: Final = 2_000
"""Publications whose attributes are those of all."""

ALL, SHARE, LEAST = "publications", "share", "few"
"""The folders of all publications, of the peer's and of the fewest."""

_TYPES: Final = MappingProxyType({int: "BIGINT", float: "DOUBLE", str: "STRING"})

OUTPUTS: Final = (Output.PAIRS, Output.LISTS, Output.COUNTS)

ENDS: Final = MappingProxyType({False: "", True: " in files"})
"""The end of a measurement's name, by whether results are written."""

LAKE: Final = MappingProxyType(
    {
        (output, stored): f"match of a lake: {output}{end}"
        for stored, end in ENDS.items()
        for output in OUTPUTS
    }
)
PEERS: Final = MappingProxyType(
    {
        (form, output, stored): f"{form}: {output}{end}"
        for stored, end in ENDS.items()
        for form in FORMULATIONS
        for output in OUTPUTS
    }
)
TABLE: Final = "match of a table: pairs"

_COST_BAR: Final = "cost of a table, of 1.5 x match_many + transport"


class Case(NamedTuple):
    """The setting of one measuring process."""

    name: str
    master: str
    one_core: bool = False
    peers: bool = False


CASES: Final = (
    Case("local[2]", "local[2]", peers=True),
    Case("local[1]", "local[1]"),
    Case("local[1] on one core", "local[1]", one_core=True),
)


class Sizes(NamedTuple):
    """The sizes of a match."""

    subscriptions: int = SUBSCRIPTIONS
    publications: int = PUBLICATIONS


class Measured(NamedTuple):
    """The median of some rounds, for `publications` publications."""

    publications: int
    seconds: float
    java_s: float
    python_s: float

    @property
    def per_s(self) -> float:
        """Publications a second, on the clock."""
        return self.publications / self.seconds

    @property
    def cost_us(self) -> float:
        """Microseconds of processor time for each publication, in all processes."""
        return (self.java_s + self.python_s) / self.publications * 1e6


class Job(NamedTuple):
    """A timed job: work for `publications` publications, less that for fewer if there is such.

    `told` is its result for the peer's share of the publications, to be compared.
    """

    what: str
    run: Callable[[], object]
    publications: int
    less: Callable[[], object] | None = None
    less_publications: int = 0
    told: DataFrame | None = None


def run_spark_match(names: Sequence[str] = (), sizes: Sizes | None = None) -> dict[str, Any]:
    """Measure with some of the `WORKLOADS`, all by default.

    `rows` has a line for each thing measured, `bars` one for each question. Raises
    `EnvironmentMissingError` without Java or PySpark, and `InvalidValueError` for a workload that
    the peer cannot have and for too few publications.
    """
    chosen = sizes or Sizes()
    if chosen.publications <= FEW:
        raise InvalidValueError("rows", f"at least {FEW + 1} publications say how long one takes")
    rows: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
    for name in names or WORKLOADS:
        if name not in WORKLOADS:
            raise InvalidValueError(
                "workload",
                f"the peer joins equalities, and {name} has none in some subscription; "
                f"choose {' or '.join(WORKLOADS)}",
            )
        found = _run(name, chosen)
        rows += found["rows"]
        bars += found["bars"]
    return {"rows": rows, "bars": bars}


def measure(folder: Path, name: str, sizes: Sizes, case: Case) -> dict[str, Any]:
    """The figures of one process; the first writes the publications into `folder`."""
    from sapwood.pipeline.matching.match import match
    from sapwood.pipeline.matching.subscriptions import compile_subscriptions
    from sapwood.pipeline.spark.session import running_session
    from sapwood.pipeline.tables.publications import Needs, select_read, shape_of

    if case.one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with running_session("sapwood bench", master=case.master) as spark:
        published, share, few = _publications(spark, folder, name, sizes)
        compiled = compile_subscriptions(spark.read.parquet(str(folder / "subscriptions")))
        narrow, _ = select_read(published, shape_of(published), Needs(compiled.attributes))
        moved = narrow.mapInArrow(as_it_is, narrow.schema)
        jobs = [
            *_lake_jobs(spark, folder, compiled, sizes.publications),
            Job(
                TABLE,
                partial(_spend, match(published, compiled)),
                sizes.publications,
                told=match(share, compiled),
            ),
            Job("transport", partial(_spend, moved), sizes.publications),
            *(_peer_jobs(spark, folder, name, sizes, (share, few)) if case.peers else ()),
        ]
        sums = {job.what: _sum(job.told) for job in jobs if job.told is not None}
        return {"sums": sums, "measured": _rounds(jobs)}


def _lake_jobs(
    spark: SparkSession, folder: Path, compiled: SubscriptionSet, publications: int
) -> Iterator[Job]:
    """Our jobs; their results for the peer's share of the publications are compared."""
    from sapwood.pipeline.matching.delivering import match_into
    from sapwood.pipeline.matching.match import match
    from sapwood.pipeline.tables.lake import open_lake

    whole, part = (open_lake(spark, str(folder / name)) for name in (ALL, SHARE))
    run: Callable[[], object]
    for (output, stored), what in LAKE.items():
        if stored:
            paths = [str(folder / f"{name}-{output}") for name in (ALL, SHARE)]
            match_into(part, compiled, paths[1], output=output)
            told = spark.read.parquet(paths[1])
            run = partial(match_into, whole, compiled, paths[0], output=output)
        else:
            told = match(part, compiled, output=output)
            run = partial(_spend, match(whole, compiled, output=output))
        yield Job(what, run, publications, told=told)


def _peer_jobs(
    spark: SparkSession,
    folder: Path,
    name: str,
    sizes: Sizes,
    published: tuple[DataFrame, DataFrame],
) -> Iterator[Job]:
    """The peer's, with its share of the publications and with a few."""
    counts = tuple(table.count() for table in published)
    store = partial(_store, path=str(folder / "peer"))
    for (form, output), make in _peers(spark, name, sizes):
        share, few = map(make, published)
        for stored in ENDS:
            end = store if stored else _spend
            run, less = partial(end, share), partial(end, few)
            told = None if stored else share
            yield Job(PEERS[form, output, stored], run, counts[0], less, counts[1], told)


def as_it_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that changes nothing: what is left is the way."""
    return batches


def match_many_cost_us(name: str, sizes: Sizes) -> float:
    """Processor time of `Index.match_many` for each publication, in microseconds: the median."""
    source = workload(name)
    index = Index()
    for subscription in source.subscriptions(sizes.subscriptions, SEEDS[0]):
        index.add(subscription.id, subscription.filter)
    index.fold()
    published = list(source.publications(min(ALONE, sizes.publications), SEEDS[1]))
    index.match_many(published)
    took = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        index.match_many(published)
        took.append((time.process_time() - begin) / len(published) * 1e6)
    return statistics.median(took)


def main(folder: str, name: str, subscriptions: str, publications: str, case: str) -> None:
    """Measure in this process, and print what was found as JSON."""
    chosen = next(each for each in CASES if each.name == case)
    found = measure(Path(folder), name, Sizes(int(subscriptions), int(publications)), chosen)
    sys.stdout.buffer.write(msgspec.json.encode(found))


def _run(name: str, sizes: Sizes) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as work:
        found = {case.name: _in_a_process(Path(work), name, sizes, case) for case in CASES}
    alone_us = match_many_cost_us(name, sizes)
    wrong = _wrong(found[CASES[0].name]["sums"])
    measured = {
        (case, what): Measured(**figures)
        for case, told in found.items()
        for what, figures in told["measured"].items()
    }
    rows = [
        _row(name, case, what, figures, is_void=what in wrong)
        for (case, what), figures in measured.items()
    ]
    bars = [
        {"workload": name, "bar": bar, "value": value, "wanted": wanted}
        for bar, value, wanted in _answers(measured, alone_us, wrong)
    ]
    alone = {"workload": name, "what": "match_many", "where": "no Spark", "cpu us": alone_us}
    return {"rows": [*rows, {**dict.fromkeys(rows[0], ""), **alone}], "bars": bars}


def _wrong(sums: Mapping[str, Sequence[str]]) -> set[str]:
    """The jobs whose results differ from those of `match` of a lake, compared with a table."""
    right = {output: sums[LAKE[output, False]] for output in OUTPUTS}
    wrong = {LAKE[output, True] for output in OUTPUTS if sums[LAKE[output, True]] != right[output]}
    if sums[TABLE] != right[Output.PAIRS]:
        wrong |= {TABLE, LAKE[Output.PAIRS, False]}
    for (form, output, _), what in PEERS.items():
        if sums[PEERS[form, output, False]] != right[output]:
            wrong.add(what)
    return wrong


def _answers(
    measured: Mapping[tuple[str, str], Measured], alone_us: float, wrong: Set[str]
) -> Iterator[tuple[str, float | str, str]]:
    """A line for each bar, the value, and the aim; `VOID` where something is `wrong`."""
    for (output, stored), lake in LAKE.items():
        two, one, held = (measured[case.name, lake] for case in CASES)
        told = f"{output}{ENDS[stored]}"
        for form in FORMULATIONS:
            peer = PEERS[form, output, stored]
            times = two.per_s / measured[CASES[0].name, peer].per_s
            value = "VOID" if wrong & {lake, peer} else times
            yield f"rate of {told}, of the plain SQL {form}", value, "at least 20.0"
        yield f"{told} at local[2], of local[1]", two.per_s / one.per_s, "at least 1.6"
        bar = f"{told} at local[2], of local[1] on one core"
        yield bar, two.per_s / held.per_s, "at least 1.6"
    allowed_us = 1.5 * alone_us + measured[CASES[1].name, "transport"].cost_us
    yield _COST_BAR, measured[CASES[1].name, TABLE].cost_us / allowed_us, "at most 1.0"


def _row(name: str, case: str, what: str, figures: Measured, *, is_void: bool) -> dict[str, Any]:
    return {
        "workload": name,
        "what": what,
        "where": case,
        "publications": figures.publications,
        "publications/s": "VOID" if is_void else figures.per_s,
        "cpu us": figures.cost_us,
        "of it Java": figures.java_s / figures.publications * 1e6,
        "cores used": (figures.java_s + figures.python_s) / figures.seconds,
    }


def _rounds(jobs: Sequence[Job]) -> dict[str, Any]:
    """The medians of all jobs, which take turns."""
    took: dict[str, list[tuple[float, ...]]] = {job.what: [] for job in jobs}
    for _ in range(ROUNDS):
        for job in jobs:
            spent = _timed(job.run)
            if job.less is not None:
                spent = tuple(map(operator.sub, spent, _timed(job.less)))
            took[job.what].append(spent)
    return {
        job.what: Measured(
            job.publications - job.less_publications,
            *map(statistics.median, zip(*took[job.what], strict=True)),
        )._asdict()
        for job in jobs
    }


def _spend(frame: DataFrame) -> None:
    """Have all rows computed, and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def _store(frame: DataFrame, path: str) -> None:
    """Write all rows as Parquet, in place of what is there."""
    frame.write.mode("overwrite").parquet(path)


def _timed(run: Callable[[], object]) -> tuple[float, ...]:
    """Seconds on the clock, and processor seconds of Java and of Python."""
    before, begin = used(), time.perf_counter()
    run()
    seconds = time.perf_counter() - begin
    spent = used().since(before)
    return seconds, spent.java_s, spent.python_s


def _sum(told: DataFrame) -> list[str]:
    """The number of rows and a sum of their hashes: equal for equal sets of rows."""
    from pyspark.sql import functions as F  # noqa: N812

    lists = {name for name, kind in told.dtypes if kind.startswith("array")}
    columns = [F.sort_array(name) if name in lists else F.col(name) for name in told.columns]
    total = F.sum(F.xxhash64(*columns).cast("decimal(38,0)"))
    row = told.agg(F.count(F.lit(1)), total).first()
    assert row is not None, "an aggregate without keys has one row"
    return [str(value) for value in row]


def _peers(
    spark: SparkSession, name: str, sizes: Sizes
) -> Iterator[tuple[tuple[str, Output], Callable[[DataFrame], DataFrame]]]:
    """The peer's formulations of each output; its subscriptions are in memory."""
    subscriptions: list[Wanted] = wanted(
        workload(name).subscriptions(sizes.subscriptions, SEEDS[0])
    )
    numbers = sorted({part.name for each in subscriptions for part in each.ranges})
    joined = sorted({each.name for each in subscriptions})
    table = wanted_table(spark, subscriptions, numbers).persist()
    table.count()
    for form in FORMULATIONS:
        for output in OUTPUTS:
            given = {"table": table, "names": numbers, "joined": joined, "formulation": form}
            yield (form, output), partial(peer_match, **given, output=output)


def _publications(
    spark: SparkSession, folder: Path, name: str, sizes: Sizes
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """All publications, the peer's share of them and a few, as Parquet.

    The first process writes them, and the subscriptions beside them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    from sapwood_lab.workload.frames import publication_frame, subscription_frame

    places = [str(folder / part) for part in (ALL, SHARE, LEAST)]
    if not Path(places[0]).exists():
        source = workload(name)
        some = list(source.publications(min(_SAMPLE, sizes.publications), SEEDS[1]))
        types = {a: _TYPES[type(v)] for each in some for a, v in each.record.items()}
        schema = ", ".join(f"{attribute} {types[attribute]}" for attribute in sorted(types))
        record = F.from_json("attributes", schema).alias("attributes")
        counts = (PEER_PUBLICATIONS, FEW)
        for path, count in zip(places, (sizes.publications, *counts), strict=True):
            made = publication_frame(spark, source, min(count, sizes.publications), SEEDS[1])
            made.select("id", record).write.parquet(path)
        made = subscription_frame(spark, source, sizes.subscriptions, SEEDS[0])
        made.write.parquet(str(folder / "subscriptions"))
    whole, share, few = map(spark.read.parquet, places)
    return whole, share, few


def _in_a_process(folder: Path, name: str, sizes: Sizes, case: Case) -> dict[str, Any]:
    arguments = (folder, name, *sizes, case.name)
    printed = run_apart(__name__, arguments, f"Spark at {case.name}")
    found: dict[str, Any] = msgspec.json.decode(printed)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
