from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FileFormatError, InputError, UnknownNameError
from sapwood.model.filter import EVERYTHING, Filter
from sapwood.model.publication import flatten
from sapwood.pipeline.compile.job import CompileJob
from sapwood.pipeline.matching.versions import CompiledSet
from tests.pipeline.samples import filters, publications
from tests.pipeline.stored import rows_at

pytestmark = pytest.mark.spark

HOMES = ("r1", "r2", "r@3")


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def wanted(count: int, seed: int) -> list[dict[str, Any]]:
    """Subscriptions with repetitions and covers among them, some without a home."""
    random = Random(seed)
    # What accepts everything would leave nothing to compare.
    texts = [text for text in filters(count, seed).values() if parse_filter(text) != EVERYTHING]
    texts += [f"n > {random.randrange(9)} and s = '{random.choice('ab')}'" for _ in range(count)]
    homes = (*HOMES, None)
    return [
        {"id": f"s{number}", "filter": random.choice(texts), "home": random.choice(homes)}
        for number in range(2 * count)
    ]


def test_a_compiled_set_reaches_the_same_homes_as_the_original(spark: Any, tmp_path: Path) -> None:
    rows = wanted(100, seed=5)
    source = write(tmp_path / "s.jsonl", rows)
    # A home has more filters than one group takes.
    job = CompileJob(source, str(tmp_path / "set"), homes=HOMES, group_max=20)
    summary = job.run(spark)
    assert summary.usage is None or summary.usage.peak_bytes > 1 << 20
    report = summary.report
    assert report.read == len(rows)
    assert report.read == (
        report.rejected + report.unsatisfiable + report.repeated + report.covered + report.entries
    )
    assert min(report.unsatisfiable, report.repeated, report.covered, report.entries) > 0
    parsed = {row["id"]: parse_filter(row["filter"]) for row in rows}
    members = {r["id"]: r for r in rows_at(f"{summary.out}/members")}
    assert members.keys() == parsed.keys()
    assert all(row["home"] in (None, members[row["id"]]["home"]) for row in rows)
    check_entries(rows_at(f"{summary.out}/entries"), members, parsed)
    compiled = CompiledSet.load(summary.out)
    assert len(compiled) == report.entries
    for record in publications(150, seed=6).values():
        flat = flatten(record).record
        reached = {members[id_]["home"] for id_, f in parsed.items() if f.accepts(flat)}
        assert compiled.homes(record) == sorted(reached)


@pytest.mark.long
def test_xpaths_are_reduced_by_covering_beside_filters(spark: Any, tmp_path: Path) -> None:
    random = Random(3)
    steps = ("a", "b", "c", "*")
    texts = [
        "".join(
            random.choice(("/", "//")) + random.choice(steps) for _ in range(random.randint(1, 4))
        )
        for _ in range(60)
    ]
    rows: list[dict[str, Any]] = [
        {"id": f"x{at}", "xpath": text, "home": random.choice(HOMES)}
        for at, text in enumerate(texts)
    ]
    rows += [{"id": f"f{at}", "filter": f"n > {at}", "home": HOMES[at % 3]} for at in range(12)]
    source = write(tmp_path / "s.jsonl", [*rows, {"id": "x1", "xpath": "//*", "home": HOMES[0]}])
    summary = CompileJob(source, str(tmp_path / "set"), group_max=3).run(spark)
    report = summary.report
    assert report.reasons == (("id 'x1' was on line 2 already; give it its own id", 1),)
    assert report.covered == report.covered_patterns + 9
    assert min(report.patterns, report.covered_patterns) > 3
    assert report.entries == report.patterns + 3
    kept: dict[str, list[Any]] = {}
    for row in rows_at(f"{summary.out}/entries"):
        if row["xpath"] is None:
            continue
        kept.setdefault(row["home"], []).append(parse_xpath(row["xpath"]))
    for patterns in kept.values():
        assert not any(one.covers(other) for one, other in permutations(patterns, 2))
    compiled = CompiledSet.load(summary.out)
    for document in (b"<a/>", b"<b><a/></b>", b"<a><b><c/></b></a>", b"<c><d/></c>", b"<d/>"):
        reached = {
            row["home"]
            for row in rows
            if "xpath" in row and parse_xpath(row["xpath"]).matches(document)
        }
        assert compiled.homes(document) == sorted(reached)


@pytest.mark.long
def test_a_merged_set_reaches_no_fewer_homes(spark: Any, tmp_path: Path) -> None:
    random = Random(8)
    corners = [(random.randrange(40), random.randrange(40)) for _ in range(60)]
    rows: list[dict[str, Any]] = [
        {
            "id": f"m{at}",
            "filter": f"s = '{'ab'[at % 3 % 2]}' and x between {x} and {x + 20} "
            f"and y between {y} and {y + 20}",
            "home": HOMES[at % 2],
        }
        for at, (x, y) in enumerate(corners)
    ]
    rows.append({"id": "p", "xpath": "/a", "home": "r1"})
    source = write(tmp_path / "s.jsonl", rows)
    summary = CompileJob(source, str(tmp_path / "set"), merge=0.3).run(spark)
    report = summary.report
    gone = report.unsatisfiable + report.repeated + report.covered + report.merged
    assert report.read == gone + report.entries == len(rows)
    assert (report.budget, report.patterns) == (0.3, 1)
    assert min(report.mergers, report.merged, report.degree) > 0
    assert report.degree <= 0.3
    entries = {(row["home"], row["key"]): row for row in rows_at(f"{summary.out}/entries")}
    assert sum(row["stands_for"] for row in entries.values()) == len(rows)
    parsed = {row["id"]: parse_filter(row["filter"]) for row in rows if "filter" in row}
    for row in rows_at(f"{summary.out}/members"):
        if row["id"] == "p":
            continue
        entry = parse_filter(entries[row["home"], row["entry"]]["filter"])
        assert entry.covers(parsed[row["id"]])
    homes = {row["id"]: row["home"] for row in rows}
    compiled = CompiledSet.load(summary.out)
    for x, y in corners:
        record: dict[str, Any] = {"s": "a", "x": x, "y": y}
        wanted = {homes[id_] for id_, filter_ in parsed.items() if filter_.accepts(record)}
        assert wanted <= set(compiled.homes(record))


def check_entries(rows: list[Any], members: dict[str, Any], parsed: dict[str, Filter]) -> None:
    """No entry can go, every member's entry covers it, and the counts say how many those are."""
    kept: dict[str, dict[str, Filter]] = {}
    for row in rows:
        kept.setdefault(row["home"], {})[row["key"]] = parse_filter(row["filter"])
    assert any(len(entries) > 10 for entries in kept.values())
    for entries in kept.values():
        for one, other in permutations(entries, 2):
            assert not entries[one].covers(entries[other])
    stands_for = Counter((row["home"], row["entry"]) for row in members.values())
    equal = Counter((row["home"], row["key"]) for row in members.values())
    for row in rows:
        assert row["stands_for"] == stands_for[row["home"], row["key"]]
        assert row["subscriptions"] == equal[row["home"], row["key"]]
    for id_, row in members.items():
        if row["entry"] is None:
            assert not parsed[id_].conjunctions
        else:
            entry = kept[row["home"]][row["entry"]]
            assert entry.covers(parsed[id_])
            assert (entry == parsed[id_]) == (row["key"] == row["entry"])


@pytest.mark.long
def test_a_second_run_writes_a_version_only_for_something_new(spark: Any, tmp_path: Path) -> None:
    rows = [{"id": "a", "filter": "x > 1"}, {"id": "b", "filter": "x > 2"}, {"id": "c"}]
    source = write(tmp_path / "s.jsonl", rows)
    job = CompileJob(source, str(tmp_path / "set"), merge=0.0)
    # A run that was cut short has left a version without a report.
    (tmp_path / "set" / "version=1" / "index" / "segment-00007").mkdir(parents=True)
    first = job.run(spark)
    assert first.is_new
    assert (first.report.version, first.report.entries, first.report.covered) == (1, 1, 1)
    assert (first.report.read, first.report.good, first.rejected) == (3, 2, 1)
    assert first.report.reasons == (
        (
            'a subscription needs a "filter" or an "xpath"; the filter "true" accepts every record',
            1,
        ),
    )
    assert Path(first.aside).is_dir()
    again = job.run(spark)
    assert not again.is_new
    assert again.report == first.report
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["version=1"]
    write(tmp_path / "s.jsonl", [*rows[:2], {"id": "c", "filter": "x < 5", "home": "r2"}])
    changed = job.run(spark)
    assert (changed.is_new, changed.report.version, changed.report.homes) == (True, 2, 2)
    assert not Path(changed.aside).exists()
    assert CompiledSet.load(first.out).homes({"x": 0}) == []
    assert CompiledSet.load(changed.out).homes({"x": 3}) == ["r1", "r2"]


@pytest.mark.long
def test_tables_are_compiled_like_lines(spark: Any, tmp_path: Path) -> None:
    rows = [("a", "x > 1", None), ("a", "x > 9", None), (None, "x", "r2"), ("b", "x >", "r2")]
    table = spark.createDataFrame(rows, "id STRING, filter STRING, home STRING").coalesce(1)
    table.write.parquet(str(tmp_path / "s"))
    summary = CompileJob(str(tmp_path / "s"), str(tmp_path / "set"), homes=("h",)).run(spark)
    report = summary.report
    assert (report.read, report.rejected, report.entries) == (4, 3, 1)
    assert CompiledSet.load(summary.out).homes({"x": 2}) == ["h"]
    aside = spark.read.json(summary.aside).orderBy("line").collect()
    assert [(row["line"], row["reason"][:20]) for row in aside] == [
        (2, "id 'a' was on line 1"),
        (3, "a subscription needs"),
        (4, "filter: expected a n"),
    ]


@pytest.mark.long
def test_filters_of_dialects_are_compiled_to_what_they_say(spark: Any, tmp_path: Path) -> None:
    policy = '{"x": [{"numeric": [">", 9]}]}'
    rows = [("a", "not x <= 1", "sapwood"), ("b", policy, "sns"), ("c", "x > 1 + 1", None)]
    table = spark.createDataFrame(rows, "id STRING, filter STRING, dialect STRING").coalesce(1)
    table.write.parquet(str(tmp_path / "s"))
    job = CompileJob(str(tmp_path / "s"), str(tmp_path / "set"), homes=("h",), dialect="jms")
    summary = job.run(spark)
    assert (summary.report.rejected, summary.report.entries) == (0, 1)
    assert CompiledSet.load(summary.out).homes({"x": 1.5}) == ["h"]
    source = write(tmp_path / "s.jsonl", [{"id": "a", "filter": json.loads(policy)}])
    summary = CompileJob(source, str(tmp_path / "other"), homes=("h",), dialect="sns").run(spark)
    assert summary.report.rejected == 0
    assert CompiledSet.load(summary.out).homes({"x": 9}) == []
    with pytest.raises(UnknownNameError, match="no dialect is called 'sql'"):
        CompileJob(source, str(tmp_path / "other"), dialect="sql")


@pytest.mark.long
def test_nothing_is_compiled_to_nothing(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", [{"id": "a", "filter": "false"}])
    summary = CompileJob(source, str(tmp_path / "set")).run(spark)
    report = summary.report
    assert (report.read, report.unsatisfiable, report.entries) == (1, 1, 0)
    compiled = CompiledSet.load(summary.out)
    assert (len(compiled), compiled.homes({"x": 1})) == (0, [])


def test_what_cannot_be_done_is_refused(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", [{"id": "a", "filter": "x >"}])
    out = tmp_path / "set"
    with pytest.raises(FileFormatError, match="line 1: filter: "):
        CompileJob(source, str(out), strict=True).run(spark)
    with pytest.raises(InputError, match="at least one home"):
        CompileJob(source, str(out), homes=()).run(spark)
    for budget in (-0.1, 1.0, float("nan")):
        with pytest.raises(InputError, match="no budget for merging"):
            CompileJob(source, str(out), merge=budget)
    assert not out.exists()
    with pytest.raises(FileFormatError, match="exists and is no compiled set"):
        CompileJob(source, source).run(spark)
    spark.createDataFrame([("a",)], "id STRING").write.parquet(str(tmp_path / "t"))
    with pytest.raises(InputError, match="has the text columns id and filter"):
        CompileJob(str(tmp_path / "t"), str(out)).run(spark)


def test_the_plan_shows_the_way_into_python(spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", [{"id": "a", "filter": "x > 1"}])
    plan = CompileJob(source, str(tmp_path / "set")).explain(spark)
    assert "DecodeLines" in plan
    assert not (tmp_path / "set").exists()
