"""`sapwood bench`: measure this machine, write JSON, print tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click

from sapwood.cli.output import json_option, print_json, print_table, say

SUBJECTS: Final = (
    "records",
    "network",
    "spark",
    "spark-match",
    "covering",
    "documents",
    "documents-covering",
    "documents-tables",
    "compile",
    "broker",
    "forwarding",
    "synopsis",
)
DEFAULT_SUBJECTS: Final = ("records", "network", "spark")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line; empty means the default."""

    seconds: float
    fill_seconds: float
    cold_seconds: float = 0.0
    workloads: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    densities: tuple[float, ...] = ()
    operations: int = 50_000
    attributes: tuple[int, ...] = ()
    coverings: tuple[str, ...] = ()
    parquet: bool = False
    publications: int = 300
    rows: int = 1_000_000
    data: Path | None = None
    dtd: Path | None = None
    clients: tuple[int, ...] = ()
    hops: tuple[int, ...] = ()
    peers: tuple[str, ...] = ()
    durabilities: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


def _numbers(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, ...]:
    """Positive whole numbers between commas; a usage error for anything else."""
    if value is None:
        return ()
    try:
        found = tuple(int(part.replace("_", "")) for part in value.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise click.BadParameter(f"{value!r} is not whole numbers above 0 between commas")
    return found


def _names(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(filter(None, (value or "").split(",")))


@click.command
@click.argument("subjects", nargs=-1, type=click.Choice(SUBJECTS))
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    help="records: a workload (mix), documents: one (all), spark-match: mix or eq (both); "
    "broker: eq, mix, flights or another of records, documents; forwarding: pairs or one of "
    "records; repeatable.",
)
@click.option(
    "--engine", "engines", multiple=True, help="records, documents: an engine (all); repeatable."
)
@click.option(
    "--sizes",
    "--subscriptions",
    "sizes",
    callback=_numbers,
    metavar="N,N,...",
    help="records, documents: subscriptions (1000,10000,100000; documents also 1000000); "
    "documents-covering: patterns (1000 to 100000); documents-tables: XPEs (3000); "
    "compile: subscriptions (100000,1000000); spark-match: "
    "subscriptions (100000); broker: subscriptions (1 to 100000); forwarding: subscriptions "
    "(100000); synopsis: documents (10000,100000).",
)
@click.option(
    "--clients",
    callback=_numbers,
    metavar="N,N,...",
    help="broker: clients that subscribe (10; 1000 once).",
)
@click.option(
    "--hops",
    callback=_numbers,
    metavar="N,N,...",
    help="broker: brokers in a line (1; 3 once); forwarding: links in a line (5).",
)
@click.option(
    "--peers",
    callback=_names,
    metavar="NAME,NAME,...",
    help="broker: other servers to measure (all that benchmarks/peers/brokers/get.py has fetched), "
    "or none.",
)
@click.option(
    "--durability",
    "durabilities",
    multiple=True,
    metavar="fsync|interval:MS|none",
    help="broker: Sapwood once more with a store that keeps what it is told so; repeatable.",
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="forwarding: a protocol (matching at every hop, bloom, reuse); repeatable, and the first "
    "one is what others are compared with.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="documents: folder with the expressions and documents of the YFilter 1.0 benchmark, the "
    "DTD of NITF (nitf-2-5.dtd), or both; "
    "records: folder with real records, which then are measured, too.",
)
@click.option(
    "--dtd",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="documents-covering, documents-tables: a DTD to draw patterns from "
    "(the news DTD that comes along).",
)
@click.option(
    "--density",
    "densities",
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="records: share of 10,000 subscriptions that match (0.0001 to 0.2); forwarding: share of "
    "the subscriptions (0.00005 to 0.005); repeatable.",
)
@click.option(
    "--operations", default=50_000, show_default=True, help="covering: length of the sequences."
)
@click.option(
    "--attributes", callback=_numbers, metavar="N,N,...", help="covering: attributes (3,6)."
)
@click.option(
    "--covering",
    "coverings",
    multiple=True,
    help="covering: a pair of graph and index (all); repeatable.",
)
@click.option(
    "--seconds", default=10.0, show_default=True, help="About how long each figure is measured."
)
@click.option(
    "--fill-seconds",
    default=10.0,
    show_default=True,
    help="records, documents: how long an engine may take to add its subscriptions; broker: how "
    "long it may take until they are in force.",
)
@click.option(
    "--cold-seconds",
    default=0.0,
    show_default=True,
    help="broker: how long it is measured once more with an empty cache of compiled kernels; it "
    "takes about 30 s until they are compiled beside a load.",
)
@click.option(
    "--export",
    type=click.Path(file_okay=False, path_type=Path),
    help="records: write the workload for other programs into this folder, and measure nothing.",
)
@click.option("--parquet", is_flag=True, help="records: export Parquet tables, made by Spark.")
@click.option(
    "--publications", default=300, show_default=True, help="records: how many are exported."
)
@click.option(
    "--rows", default=1_000_000, show_default=True, help="spark-match: how many publications."
)
@click.option(
    "--pictures",
    type=click.Path(file_okay=False, path_type=Path),
    help="records, covering: folder for charts as SVG.",
)
@click.option(
    "--out",
    default="benchmarks/results/bench.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the figures.",
)
@json_option
def command(
    *,
    subjects: Sequence[str],
    export: Path | None,
    pictures: Path | None,
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure matching, the network and Spark on this machine.

    Rates on shared machines vary by a factor of two; compare figures of one run. Without
    SUBJECTS, records, network and spark are measured; covering and documents take longer.
    """
    import msgspec

    from sapwood_lab.benchmarks.machine import describe_machine

    chosen = Options(**options)
    if export is not None:
        _export(chosen, export)
        return
    report: dict[str, Any] = {"machine": describe_machine()}
    for subject in subjects or DEFAULT_SUBJECTS:
        say(f"measuring {subject} ...")
        report[subject] = _MEASURES[subject](chosen)
        if not as_json:
            _TABLES[subject](report[subject])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    if as_json:
        print_json(report)
    if pictures is not None:
        for drawn in _draw(report, pictures):
            say(f"drew {drawn}")
    say(f"figures are in {out}")


def _draw(report: dict[str, Any], folder: Path) -> list[Path]:
    """The charts of the subjects that have any."""
    from sapwood_lab.benchmarks.covering import draw_covering
    from sapwood_lab.benchmarks.records.pictures import draw_records

    records = draw_records(report["records"], folder) if "records" in report else []
    return records + (draw_covering(report["covering"], folder) if "covering" in report else [])


def _export(options: Options, folder: Path) -> None:
    from sapwood_lab.benchmarks.records import SIZES
    from sapwood_lab.benchmarks.records.export import export, export_tables
    from sapwood_lab.benchmarks.records.sources import sources

    sizes, count = options.sizes or SIZES, options.publications
    chosen, left_out = sources(options.workloads, options.data)
    for source in chosen:
        into = folder / source.name
        if options.parquet:
            export_tables(source, max(sizes), into, count)
        else:
            export(source, sizes, into, count)
        say(f"{source.name} is in {into}")
    for name, reason in left_out.items():
        say(f"left out {name}: {reason}")


def _measure_records(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.records import DENSITIES, SIZES, Choices, run_records

    return run_records(
        Choices(
            workloads=options.workloads,
            data=options.data,
            sizes=options.sizes or SIZES,
            engines=options.engines,
            densities=options.densities or DENSITIES,
            seconds=options.seconds / 10,
            fill_seconds=options.fill_seconds,
        )
    )


def _measure_network(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.network import run_network

    return run_network(options.seconds)


def _measure_spark(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.spark import run_pipeline_bench

    return run_pipeline_bench(options.seconds)


def _measure_spark_match(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.spark_match import SUBSCRIPTIONS, Sizes, run_spark_match

    subscriptions = max(options.sizes, default=SUBSCRIPTIONS)
    return run_spark_match(options.workloads, Sizes(subscriptions, options.rows))


def _measure_covering(options: Options) -> list[dict[str, Any]]:
    from sapwood.covering.catalogue import covering_named
    from sapwood_lab.benchmarks.covering import ATTRIBUTES, run_covering
    from sapwood_lab.experiments.covering_time import REMOVAL_SHARES

    return [
        *run_covering(
            options.operations,
            options.attributes or ATTRIBUTES,
            REMOVAL_SHARES,
            options.seconds / 5,
            [covering_named(name).name for name in options.coverings],
        )
    ]


def _measure_documents(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.documents import SIZES, Choices, run_documents

    return run_documents(
        Choices(
            data=options.data,
            workloads=options.workloads,
            sizes=options.sizes or SIZES,
            engines=options.engines,
            seconds=options.seconds / 2,
            fill_seconds=options.fill_seconds,
        )
    )


def _measure_broker(options: Options) -> dict[str, Any]:
    from sapwood_lab.benchmarks.broker.plan import Choices, run_broker

    return run_broker(
        Choices(
            sizes=options.sizes,
            workloads=options.workloads,
            clients=options.clients,
            hops=options.hops,
            peers=options.peers,
            durabilities=options.durabilities,
            seconds=options.seconds / 10,
            fill_seconds=options.fill_seconds,
            cold_seconds=options.cold_seconds,
            data=options.data,
        ),
        say,
    )


def _measure_forwarding(options: Options) -> list[dict[str, Any]]:
    from sapwood_lab.benchmarks.line import Choices, run_forwarding

    default = Choices()
    return [
        *run_forwarding(
            Choices(
                workloads=options.workloads or default.workloads,
                sizes=options.sizes or default.sizes,
                densities=options.densities or default.densities,
                routers=[hops + 1 for hops in options.hops] or default.routers,
                protocols=options.protocols or default.protocols,
            )
        )
    ]


def _print_broker(report: dict[str, Any]) -> None:
    from sapwood_lab.benchmarks.broker.tables import print_broker

    print_broker(report)


def _print_records(report: dict[str, Any]) -> None:
    from sapwood_lab.benchmarks.records.tables import print_records

    print_records(report)


def _measure_documents_covering(options: Options) -> dict[str, Any]:
    from sapwood.xml.dtd import read_dtd
    from sapwood_lab.benchmarks.documents_covering import SIZES, run_documents_covering

    dtd = "news" if options.dtd is None else read_dtd(options.dtd.read_bytes())
    return run_documents_covering(dtd, options.sizes or SIZES)


def _measure_documents_tables(options: Options) -> dict[str, Any]:
    from sapwood.xml.dtd import read_dtd
    from sapwood_lab.benchmarks.documents_tables import SIZES, run_documents_tables

    dtd = "news" if options.dtd is None else read_dtd(options.dtd.read_bytes())
    return run_documents_tables(dtd, options.sizes or SIZES)


def _measure_compile(options: Options) -> list[dict[str, Any]]:
    from sapwood_lab.benchmarks.compile import SIZES, run_compile_bench

    return run_compile_bench(options.sizes or SIZES)


def _measure_synopsis(options: Options) -> list[dict[str, Any]]:
    from sapwood_lab.benchmarks.synopsis import SIZES, run_synopsis_bench

    return run_synopsis_bench(options.sizes or SIZES)


def _print_covering(rows: list[dict[str, Any]]) -> None:
    from sapwood_lab.benchmarks.covering import print_covering

    print_covering(rows)


def _print_documents_tables(report: dict[str, Any]) -> None:
    from sapwood_lab.benchmarks.documents_tables import print_documents_tables

    print_documents_tables(report)


def _print_documents_covering(report: dict[str, Any]) -> None:
    from sapwood_lab.benchmarks.documents_covering import print_documents_covering

    print_documents_covering(report)


def _print_documents(report: dict[str, Any]) -> None:
    from sapwood_lab.benchmarks.documents.tables import print_documents

    print_documents(report)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    headings = tuple(rows[0])
    print_table(headings, [tuple(_cell(row[name]) for name in headings) for row in rows])


def _print_spark_match(report: dict[str, Any]) -> None:
    _print_rows(report["rows"])
    _print_rows(report["bars"])


def _print_figures(figures: dict[str, Any]) -> None:
    print_table(("figure", "value"), [(name, _cell(value)) for name, value in figures.items()])


def _cell(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


_MEASURES: Final[Mapping[str, Callable[[Options], Any]]] = MappingProxyType(
    {
        "records": _measure_records,
        "network": _measure_network,
        "spark": _measure_spark,
        "spark-match": _measure_spark_match,
        "covering": _measure_covering,
        "documents": _measure_documents,
        "documents-covering": _measure_documents_covering,
        "documents-tables": _measure_documents_tables,
        "compile": _measure_compile,
        "broker": _measure_broker,
        "forwarding": _measure_forwarding,
        "synopsis": _measure_synopsis,
    }
)
_TABLES: Final[Mapping[str, Callable[[Any], None]]] = MappingProxyType(
    {
        "records": _print_records,
        "network": _print_figures,
        "spark": _print_figures,
        "spark-match": _print_spark_match,
        "covering": _print_covering,
        "documents": _print_documents,
        "documents-covering": _print_documents_covering,
        "documents-tables": _print_documents_tables,
        "compile": _print_rows,
        "broker": _print_broker,
        "forwarding": _print_rows,
        "synopsis": _print_rows,
    }
)
