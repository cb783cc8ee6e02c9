"""A workload as files that any program can read, with the answer beside them.

=====================  =============================================================================
subscriptions.jsonl    `id`; `filter`, the text; `any`, a list of lists of conditions: the filter
                       accepts what satisfies all conditions of one of the lists
publications.jsonl     `id`; `attributes`
expected.json          `workload`, `seed`, and for each size the number of matches of all
                       publications with the first subscriptions, that many
=====================  =============================================================================

A condition names an `attribute` and one of: `in`, a list of values; `not_in`, texts that a text is
none of; `prefix`, how a text begins; `range`, with `low`, `high` (null: no end), `low_open` and
`high_open`. It never holds for an attribute that is absent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.errors import InvalidValueError
from sapwood.files import encode_publication
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.strings import complement, prefix_end
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.scan import ColumnScan
from sapwood_lab.workload.records import Workload

PUBLICATIONS: Final = 300

SUBSCRIPTIONS_FILE: Final = "subscriptions.jsonl"
PUBLICATIONS_FILE: Final = "publications.jsonl"
EXPECTED_FILE: Final = "expected.json"


def export(
    source: Workload, sizes: Sequence[int], folder: Path, publications: int = PUBLICATIONS
) -> None:
    """Write the files for the largest size into the folder, which is made if it is not there.

    Raises `InvalidValueError` for a filter that the conditions cannot express.
    """
    folder.mkdir(parents=True, exist_ok=True)
    filters: list[Filter] = []
    with (folder / SUBSCRIPTIONS_FILE).open("wb") as lines:
        for subscription in source.subscriptions(max(sizes), SEED):
            filters.append(subscription.record_filter)
            line = {
                "id": subscription.id,
                "filter": str(subscription.record_filter),
                "any": conditions(subscription.record_filter),
            }
            lines.write(msgspec.json.encode(line) + b"\n")
    published = list(source.publications(publications, SEED))
    with (folder / PUBLICATIONS_FILE).open("wb") as lines:
        lines.writelines(encode_publication(publication) + b"\n" for publication in published)
    records = [publication.record for publication in published]
    expected: dict[str, Any] = {"workload": source.name, "seed": SEED, "publications": len(records)}
    for size in sorted(sizes):
        scan = ColumnScan(filters[:size])
        expected[str(size)] = sum(len(scan.match(record)) for record in records)
    (folder / EXPECTED_FILE).write_bytes(msgspec.json.encode(expected))


def export_tables(source: Workload, size: int, folder: Path, publications: int) -> None:
    """Write the workload as Parquet tables `subscriptions` and `publications`, made by Spark.

    For sizes that one process would be long about; the rows are those of `export`. Raises
    `EnvironmentMissingError` without Java or PySpark.
    """
    from sapwood.pipeline.spark.session import running_session
    from sapwood_lab.workload.frames import publication_frame, subscription_frame

    with running_session("sapwood bench") as spark:
        subscription_frame(spark, source, size, SEED).write.mode("overwrite").parquet(
            str(folder / "subscriptions")
        )
        publication_frame(spark, source, publications, SEED).write.mode("overwrite").parquet(
            str(folder / "publications")
        )


def conditions(wanted: Filter) -> list[list[dict[str, Any]]]:
    """The conjunctions of a filter as lists of conditions."""
    return [
        [_condition(name, constraint) for name, constraint in conjunction.constraints]
        for conjunction in wanted.conjunctions
    ]


def _condition(name: str, constraint: Constraint) -> dict[str, Any]:
    found = _said(constraint)
    if found is None:
        raise InvalidValueError(name, f"no condition says {constraint}; export another workload")
    return {"attribute": name, **found}


def _said(constraint: Constraint) -> dict[str, Any] | None:
    if constraint.absent:
        return None
    points = constraint.points()
    if points is not None:
        return {"in": list(points)}
    numbers, texts = constraint.numbers, constraint.strings
    if constraint.booleans or bool(numbers) == bool(texts.ranges) or not texts.is_plain:
        return None
    if len(numbers) == 1:
        (interval,) = numbers
        return {
            "range": {
                "low": _end(interval.low),
                "high": _end(interval.high),
                "low_open": interval.low_open,
                "high_open": interval.high_open,
            }
        }
    if len(texts.ranges) == 1 and texts.ranges[0][1] == prefix_end(texts.ranges[0][0]):
        return {"prefix": texts.ranges[0][0]}
    outside = complement(texts)
    excluded = None if outside is None else outside.points()
    return None if numbers or not excluded else {"not_in": list(excluded)}


def _end(value: float) -> float | None:
    return None if math.isinf(value) else value
