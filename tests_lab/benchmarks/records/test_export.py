"""Exported workloads mean the same in the neutral form, and bring the right answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests import strategies

from sapwood import parse_filter
from sapwood.errors import InvalidValueError
from sapwood.files import decode_publication
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.export import conditions, export, export_tables
from sapwood_lab.workload.records import WORKLOADS, workload


def holds(condition: dict[str, Any], record: Record) -> bool:
    """A condition by the letter of the module's docstring."""
    value = record.get(condition["attribute"])
    if value is None:
        return False
    if "in" in condition:
        return any(type(v) is type(value) and v == value for v in condition["in"]) or (
            not isinstance(value, bool | str)
            and any(not isinstance(v, bool | str) and v == value for v in condition["in"])
        )
    if "range" in condition:
        return not isinstance(value, bool | str) and _within(condition["range"], value)
    if not isinstance(value, str):
        return False
    if "prefix" in condition:
        return value.startswith(condition["prefix"])
    return value not in condition["not_in"]


def _within(ends: dict[str, Any], value: float) -> bool:
    low, high = ends["low"], ends["high"]
    above = low is None or (value > low if ends["low_open"] else value >= low)
    below = high is None or (value < high if ends["high_open"] else value <= high)
    return above and below


def accepted(any_of: list[list[dict[str, Any]]], record: Record) -> bool:
    return any(all(holds(condition, record) for condition in all_of) for all_of in any_of)


@given(strategies.filters(), strategies.records())
def test_conditions_mean_what_the_filter_means_or_are_refused(
    wanted: Filter, record: Record
) -> None:
    try:
        any_of = conditions(wanted)
    except InvalidValueError:
        return
    assert accepted(any_of, record) == wanted.accepts(record)


@pytest.mark.parametrize("name", ["like", "read"])
def test_export_refuses_what_no_condition_says(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="export another workload"):
        export(workload(name), (40,), tmp_path / "new", publications=2)


@pytest.mark.parametrize("name", sorted({*WORKLOADS} - {"like", "read"}))
def test_export_writes_files_that_agree_with_each_other(name: str, tmp_path: Path) -> None:
    export(workload(name), (40, 10), tmp_path / "new", publications=12)
    lines = [
        msgspec.json.decode(line)
        for line in (tmp_path / "new" / "subscriptions.jsonl").read_bytes().splitlines()
    ]
    published = (tmp_path / "new" / "publications.jsonl").read_bytes().splitlines()
    records = [decode_publication(line).publication.record for line in published]
    assert (len(lines), len(records)) == (40, 12)
    expected = msgspec.json.decode((tmp_path / "new" / "expected.json").read_bytes())
    for size in (10, 40):
        found = [accepted(line["any"], record) for line in lines[:size] for record in records]
        texts = [parse_filter(line["filter"]) for line in lines[:size]]
        assert found == [wanted.accepts(record) for wanted in texts for record in records]
        assert expected[str(size)] == sum(found)
    assert expected["workload"] == name


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_export_tables_writes_the_rows_of_export(tmp_path: Path) -> None:
    from pyarrow.parquet import read_table

    export_tables(workload("eq"), 30, tmp_path, 5)
    found = {row["id"]: row["filter"] for row in read_table(tmp_path / "subscriptions").to_pylist()}
    assert found == {s.id: str(s.filter) for s in workload("eq").subscriptions(30, SEED)}
    assert read_table(tmp_path / "publications").num_rows == 5


@pytest.mark.parametrize(
    "text", ["a is null", "a < 1 or a > 2", "a like '%x%'", "a = 1 or a > 'x'"]
)
def test_conditions_are_refused_for_what_they_cannot_say(text: str) -> None:
    with pytest.raises(InvalidValueError, match="export another workload"):
        conditions(parse_filter(text + " and b = 1"))
