from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InputError, InvalidValueError
from sapwood.pipeline.tables.publications import (
    Needs,
    as_publications,
    rejected_publications,
    select_read,
    shape_of,
)

pytestmark = pytest.mark.spark

NAN = float("nan")
STRUCT = (
    "id STRING, attributes STRUCT<x: DOUBLE, `a.b`: FLOAT, d: STRUCT<e: TINYINT>, t: ARRAY<INT>>"
)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_as_publications_makes_a_record_of_all_columns_but_the_id(spark: Any) -> None:
    table = spark.createDataFrame([(1, 2.5, "x")], "n INT, `a.b` DOUBLE, s STRING")
    made = as_publications(table, id_columns="n")
    assert made.schema.simpleString() == "struct<id:string,attributes:struct<a.b:double,s:string>>"
    assert rows(made) == [("1", (2.5, "x"))]


def test_as_publications_joins_the_texts_of_several_columns(spark: Any) -> None:
    table = spark.createDataFrame([("UA", 7), ("UA", None)], "carrier STRING, flight INT")
    made = as_publications(table, id_columns=["carrier", "flight"], attributes=["flight"])
    assert rows(made) == [("UA/7", (7,)), (None, (None,))]


def test_as_publications_names_a_column_that_is_not_there(spark: Any) -> None:
    table = spark.createDataFrame([(1,)], "n INT")
    with pytest.raises(InputError, match="no column 'id' in the table; it has n"):
        as_publications(table, id_columns="id")
    with pytest.raises(InputError, match="no column 'x'"):
        as_publications(table, id_columns="n", attributes=["x"])
    with pytest.raises(InputError, match="at least one column"):
        as_publications(table, id_columns=[])


def test_shape_of_knows_columns_and_arrays(spark: Any) -> None:
    shape = shape_of(spark.createDataFrame([], STRUCT))
    assert [leaf.name for leaf in shape.leaves] == ["x", "a.b", "d.e"]
    assert [leaf.name for leaf in shape.arrays] == ["t"]
    text = shape_of(spark.createDataFrame([], "id STRING, attributes STRING"))
    assert (text.record, text.leaves, text.arrays) == (None, (), ())


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("a INT", "this one has a; make one of any table with sapwood.pipeline.as_publications"),
        ("id INT, attributes STRUCT<a: INT>", "not INT; cast the column id to STRING"),
        ("id STRING, attributes MAP<STRING, STRING>", "must be a struct"),
    ],
)
def test_shape_of_refuses_a_table_that_has_no_publications(
    spark: Any, schema: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        shape_of(spark.createDataFrame([], schema))


def test_shape_of_names_a_column_that_no_filter_can_read(spark: Any) -> None:
    table = spark.createDataFrame([], "id STRING, attributes STRUCT<a: STRUCT<when: TIMESTAMP>>")
    with pytest.raises(InvalidValueError, match=r"'a\.when': a column of type TIMESTAMP"):
        shape_of(table)


def test_select_read_takes_only_what_filters_read_in_their_four_types(spark: Any) -> None:
    table = spark.createDataFrame([("p", (1.5, 0.5, (3,), [1]))], STRUCT)
    narrow, carried = select_read(table, shape_of(table), Needs(["d.e", "a.b", "t", "unknown"]))
    assert carried == (("a.b", "d.e", "t"), False, False)
    assert [kind for _, kind in narrow.dtypes] == ["string", "double", "bigint", "array<int>"]
    assert rows(narrow) == [("p", 0.5, 3, [1])]


def test_select_read_does_not_confuse_an_attribute_with_the_id(spark: Any) -> None:
    table = spark.createDataFrame([("p", ("other",))], "id STRING, attributes STRUCT<id: STRING>")
    narrow, carried = select_read(table, shape_of(table), Needs(["id"]))
    assert carried == (("id",), False, True)
    assert rows(narrow) == [("p", ("other",))]
    table = spark.createDataFrame(
        [("p", ("other", 1))], "id STRING, attributes STRUCT<id: STRING, x: INT>"
    )
    narrow, carried = select_read(table, shape_of(table), Needs(["id"]))
    assert carried == (("id",), False, False)
    assert rows(narrow) == [("p", "other")]


def test_select_read_leaves_a_record_whole_that_is_read_as_a_whole(spark: Any) -> None:
    schema = "id STRING, attributes STRUCT<x: FLOAT, a: STRUCT<b: SMALLINT, c: BOOLEAN>>"
    table = spark.createDataFrame([("p", (1.5, (2, True))), ("q", None)], schema)
    shape, needs = shape_of(table), Needs(["a.c", "a.b", "x"], documents=True)
    narrow, carried = select_read(table, shape, needs)
    assert carried == (("x", "a.b", "a.c"), False, True)
    assert narrow.columns == ["id", "record"]
    assert rows(narrow) == [("p", (1.5, (2, True)))]
    both = table.selectExpr("*", "'<a/>' AS document")
    narrow, carried = select_read(both, shape_of(both), needs)
    assert carried == (("x", "a.b", "a.c"), True, False)
    for others, read in (("v: VOID", ("x",)), ("v: ARRAY<INT>", ("x", "v"))):
        wider = spark.createDataFrame([], f"id STRING, attributes STRUCT<x: FLOAT, {others}>")
        _, carried = select_read(wider, shape_of(wider), Needs(["x", "v"]))
        assert carried == (read, False, len(read) == 2)


def test_select_read_leaves_nan_to_the_worker_only_in_what_travels(spark: Any) -> None:
    table = spark.createDataFrame(FAULTY, STRUCT)
    needs = Needs(["x"])
    narrow, _ = select_read(table, shape_of(table), needs)
    assert [row[0] for row in rows(narrow)] == ["arrays", "good", "infinite", "nan"]


FAULTY = [
    ("good", (1.0, 0.5, (1,), None)),
    ("arrays", (None, None, None, [1])),
    ("infinite", (float("inf"), None, None, None)),
    (None, (1.0, 0.5, (1,), None)),
    ("", (1.0, 0.5, (1,), None)),
    ("no attributes", None),
    ("nan", (NAN, 0.5, (1,), [2])),
    ("nan", (1.0, NAN, (1,), None)),
]


def test_a_row_is_selected_or_rejected_never_both(spark: Any) -> None:
    table = spark.createDataFrame(FAULTY, STRUCT)
    narrow, _ = select_read(table, shape_of(table), Needs([]))
    assert rows(narrow) == [("arrays",), ("good",), ("infinite",)]
    rejected = rejected_publications(table).select("file", "line", "reason").collect()
    assert len(rejected) + narrow.count() == len(FAULTY)
    assert sorted(row["reason"] for row in rejected) == [
        'a publication needs "attributes"',
        'a publication needs an "id": a text that is not empty',
        'a publication needs an "id": a text that is not empty',
        "attribute 'a.b': NaN has no place in an order; leave it out",
        "attribute 'x': NaN has no place in an order; leave it out",
    ]
    assert {(row["file"], row["line"]) for row in rejected} == {(None, None)}


def test_texts_are_looked_into(spark: Any) -> None:
    table = spark.createDataFrame(
        [
            ("p", '{"a": 1}', "f", 1),
            ("q", '{"a": [1], "b": {"c": []}}', "f", 2),
            ("r", "[]", "f", 3),
            ("s", '{"a": 1e400}', "f", 4),
            ("", "{}", "f", 5),
            ("t", None, "f", 6),
        ],
        "id STRING, attributes STRING, file STRING, line INT",
    )
    rejected = rejected_publications(table).orderBy("line").collect()
    assert [(row["file"], row["line"], row["text"]) for row in rejected] == [
        ("f", 3, "[]"),
        ("f", 4, '{"a": 1e400}'),
        ("f", 5, "{}"),
        ("f", 6, None),
    ]
