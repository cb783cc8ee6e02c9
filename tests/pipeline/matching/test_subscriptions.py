from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.errors import InputError, LimitError
from sapwood.matching.index import Index
from sapwood.pipeline.matching import subscriptions as module
from sapwood.pipeline.matching.subscriptions import (
    Candidate,
    SubscriptionSet,
    attributes_read,
    compile_candidates,
    compile_lines,
    compile_subscriptions,
    describe_place,
    digest,
    ship,
)
from sapwood.pipeline.tables.reading import read_lines
from sapwood.pipeline.tables.schemas import Rejected

pytestmark = pytest.mark.spark


def stored(compiled: SubscriptionSet, folder: Path) -> Index:
    """The index in the archive of a compiled set."""
    with zipfile.ZipFile(compiled.archive) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        archive.extractall(folder)
    return Index.load(folder)


def test_a_table_becomes_an_index(spark: Any, tmp_path: Path) -> None:
    rows = [("b", "y = 1 or z is null"), ("a", "x = 1"), ("c", "true")]
    compiled = compile_subscriptions(spark.createDataFrame(rows, "id STRING, filter STRING"))
    assert (compiled.size, compiled.rejected) == (3, ())
    assert compiled.attributes == ("x", "y", "z")
    index = stored(compiled, tmp_path)
    assert list(index) == ["a", "b", "c"]
    assert index.match({"x": 1, "z": 1}) == ["a", "c"]


def test_equal_sets_have_equal_names_and_others_have_others(spark: Any) -> None:
    rows = [("a", "x = 1"), ("b", "x = 2"), ("c", "x = 3")]
    schema = "id STRING, filter STRING"
    one = compile_subscriptions(spark.createDataFrame(rows, schema))
    same = compile_subscriptions(spark.createDataFrame(rows[::-1], schema).repartition(3))
    other = compile_subscriptions(spark.createDataFrame(rows[:2], schema))
    assert one.name == same.name
    assert one.name != other.name
    assert one.archive.name == f"{one.name}.zip"
    assert one.archive.read_bytes() == same.archive.read_bytes()


def test_rows_that_cannot_be_used_are_set_aside(spark: Any) -> None:
    rows = [("a", "x >"), (None, "x = 1"), ("b", None), ("", "x = 1"), ("c", "x = 1")]
    compiled = compile_subscriptions(spark.createDataFrame(rows, "id STRING, filter STRING"))
    assert compiled.size == 1
    assert sorted(row.reason for row in compiled.rejected) == sorted(
        [
            'a subscription needs an "id": a text of its own',
            'a subscription needs a "filter" or an "xpath"; the filter "true" accepts every record',
            '"id" is empty; give each subscription an id of its own',
            next(row.reason for row in compiled.rejected if "position" in row.reason),
        ]
    )
    assert {(row.file, row.line) for row in compiled.rejected} == {(None, None)}
    assert '{"id":"a","filter":"x >"}' in {row.text for row in compiled.rejected}


def test_of_two_rows_with_one_id_the_choice_does_not_depend_on_partitions(
    spark: Any, tmp_path: Path
) -> None:
    rows = [("a", f"x = {number}") for number in range(8)]
    schema = "id STRING, filter STRING"
    names = set()
    for count in (1, 3, 8):
        table = spark.createDataFrame(rows, schema).repartition(count)
        compiled = compile_subscriptions(table)
        names.add(compiled.name)
        assert len(compiled.rejected) == 7
    assert len(names) == 1
    assert stored(compiled, tmp_path).filter("a") == parse_filter("x = 0")
    assert compiled.rejected[0].reason == "id 'a' was there already; give it its own id"


def test_places_decide_where_a_table_has_them(spark: Any, tmp_path: Path) -> None:
    rows = [("a", "x = 1", "f", 2), ("a", "x = 2", "f", 1), ("a", "x = 3", "g", 1)]
    table = spark.createDataFrame(rows, "id STRING, filter STRING, file STRING, line INT")
    compiled = compile_subscriptions(table)
    assert stored(compiled, tmp_path).filter("a") == parse_filter("x = 2")
    assert [(row.file, row.line, row.reason) for row in compiled.rejected] == [
        ("f", 2, "id 'a' was on line 1 already; give it its own id"),
        ("g", 1, "id 'a' was on line 1 of f already; give it its own id"),
    ]


def test_lines_are_read_in_the_order_of_files_and_lines(spark: Any, tmp_path: Path) -> None:
    files = tmp_path / "subscriptions"
    files.mkdir()
    (files / "b.jsonl").write_bytes(b'{"id": "a", "filter": "x = 9"}\n')
    (files / "a.jsonl").write_bytes(
        b'\xef\xbb\xbf{"id": "a", "filter": "x = 1"}\r\n\n{"id": "b", "filter": "x = 2 and"}\n'
        b'\xff\n{"id": "c", "filter": "y = 1", "home": "r"}'
    )
    compiled = compile_lines(read_lines(spark, str(files)))
    assert list(stored(compiled, tmp_path / "index")) == ["a", "c"]
    assert [(Path(row.file or "").name, row.line) for row in compiled.rejected] == [
        ("a.jsonl", 3),
        ("a.jsonl", 4),
        ("b.jsonl", 1),
    ]
    assert compiled.rejected[1].text == "\\xff"
    assert compiled.rejected[2].reason == (
        f"id 'a' was on line 1 of {files}/a.jsonl already; give it its own id"
    )


def test_pieces_of_a_file_are_put_in_order(spark: Any) -> None:
    rows = [
        ("file:/f", 100, b'{"id": "a", "filter": "y = 1"}'),
        ("file:/f", 0, b"nope"),
        ("file:/f", 0, b'{"id": "a", "filter": "x = 1"}'),
    ]
    table = spark.createDataFrame(rows, "file STRING, block BIGINT, value BINARY").coalesce(1)
    compiled = compile_lines(table)
    assert compiled.attributes == ("x",)
    assert [(row.file, row.line) for row in compiled.rejected] == [("/f", 1), ("/f", 3)]


def test_a_set_without_subscriptions_is_a_set(tmp_path: Path) -> None:
    compiled = compile_candidates([])
    assert (compiled.size, compiled.attributes, compiled.rejected) == (0, (), ())
    assert len(stored(compiled, tmp_path)) == 0


def test_a_set_that_is_too_large_is_refused_before_it_is_collected(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = spark.createDataFrame([("a", "x = 1"), ("b", "x = 2")], "id STRING, filter STRING")
    monkeypatch.setattr(module, "PIPELINE_SUBSCRIPTIONS_MAX", 1)
    with pytest.raises(LimitError, match="PIPELINE_SUBSCRIPTIONS_MAX is 1"):
        compile_subscriptions(table)
    monkeypatch.setattr(module, "PIPELINE_SUBSCRIPTIONS_MAX", 2)
    monkeypatch.setattr(module, "PIPELINE_FILTER_CHARS_MAX", 9)
    with pytest.raises(LimitError, match="PIPELINE_FILTER_CHARS_MAX is 9"):
        compile_subscriptions(table)


def test_a_table_of_another_kind_is_refused(spark: Any) -> None:
    table = spark.createDataFrame([], "id INT, filter STRING")
    with pytest.raises(InputError, match="this one has id INTEGER, filter STRING"):
        compile_subscriptions(table)


def test_a_set_is_shipped_once(spark: Any) -> None:
    shipped: list[str] = []

    class Session:
        """Notes what the real session is told to ship."""

        def addArtifacts(self, *paths: str, archive: bool) -> None:  # noqa: N802 - PySpark's name
            shipped.extend(paths)
            spark.addArtifacts(*paths, archive=archive)

    session: Any = Session()
    compiled = compile_candidates([Candidate(None, None, b'{"id": "a", "filter": "shipped = 1"}')])
    ship(session, compiled)
    ship(session, compiled)
    assert shipped == [f"{compiled.archive}#{compiled.name}"]


def test_attributes_read_are_those_of_all_conjunctions() -> None:
    assert attributes_read(parse_filter("a = 1 and b.c is null or not (d > 1)")) == {
        "a",
        "b.c",
        "d",
    }
    assert attributes_read(parse_filter("true")) == set()


def test_digest_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    digests: list[str] = []
    for name, text in (("a", "x"), ("a", "x"), ("a", "y"), ("b", "x")):
        folder = tmp_path / str(len(digests))
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / name).write_text(text)
        digests.append(digest(folder))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_describe_place_names_the_file_only_where_it_is_another() -> None:
    assert describe_place("f", 3, beside="f") == "on line 3"
    assert describe_place("f", 3, beside="g") == "on line 3 of f"
    assert describe_place(None, None, beside=None) == "there"


def test_rejected_rows_are_those_of_the_schema() -> None:
    assert Rejected._fields == ("file", "line", "reason", "text")
