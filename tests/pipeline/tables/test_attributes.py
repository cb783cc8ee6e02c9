from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InvalidValueError, InvariantError, LimitError
from sapwood.limits import ATTRIBUTES_MAX, RECORD_DEPTH_MAX
from sapwood.pipeline.tables.attributes import Array, Kind, Object, Scalar, leaves, record_type

T = pytest.importorskip("pyspark.sql.types")


def struct(**fields: Any) -> Any:
    return T.StructType([T.StructField(name, type_) for name, type_ in fields.items()])


def read(type_: Any, **options: Any) -> Object:
    return record_type(type_, case_sensitive=options.pop("case_sensitive", True), **options)


def test_record_type_knows_the_four_kinds_of_values() -> None:
    record = read(
        struct(
            a=T.BooleanType(),
            b=T.ByteType(),
            c=T.LongType(),
            d=T.FloatType(),
            e=T.DoubleType(),
            f=T.StringType(),
            g=T.VarcharType(3),
            h=T.NullType(),
        )
    )
    kinds = [leaf.type.kind for leaf in leaves(record) if isinstance(leaf.type, Scalar)]
    assert kinds == [
        Kind.BOOLEAN,
        Kind.INTEGER,
        Kind.INTEGER,
        Kind.FLOAT,
        Kind.FLOAT,
        Kind.TEXT,
        Kind.TEXT,
        Kind.NOTHING,
    ]


def test_leaves_have_dotted_names_and_paths_when_nested() -> None:
    record = read(struct(a=struct(b=struct(c=T.LongType()), d=T.ArrayType(T.DateType()))))
    assert [(leaf.name, leaf.path) for leaf in leaves(record)] == [
        ("a.b.c", ("a", "b", "c")),
        ("a.d", ("a", "d")),
    ]


@pytest.mark.parametrize(
    ("type_", "remedy"),
    [
        (T.DateType(), "DATE .* cast it to STRING"),
        (T.TimestampType(), "TIMESTAMP .*unix_micros"),
        (T.TimestampNTZType(), "cast it to STRING"),
        (T.DecimalType(10, 2), r"DECIMAL\(10,2\) .* cast it to DOUBLE, or to BIGINT"),
        (T.BinaryType(), "leave it out"),
        (T.MapType(T.StringType(), T.StringType()), "make it a struct"),
        (T.VariantType(), "variant_get"),
        (T.DayTimeIntervalType(), "cast it to STRING, BIGINT"),
    ],
)
def test_record_type_names_the_column_and_the_cast_when_no_filter_can_read_it(
    type_: Any, remedy: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"attribute 'x.when': .*{remedy}"):
        read(struct(x=struct(when=type_)))


def test_record_type_does_not_look_into_arrays_unless_asked() -> None:
    dates = struct(x=T.ArrayType(T.DateType()))
    assert read(dates) == Object((("x", Array(None)),))
    with pytest.raises(InvalidValueError, match="'x'"):
        read(dates, opaque_arrays=False)
    texts = read(struct(x=T.ArrayType(T.StringType())), opaque_arrays=False)
    assert texts.sql == "STRUCT<`x`: ARRAY<STRING>>"


def test_record_type_refuses_two_columns_that_give_one_attribute() -> None:
    with pytest.raises(InvalidValueError, match=r"'a\.b': given twice"):
        read(T.StructType([*struct(a=struct(b=T.LongType())), T.StructField("a.b", T.LongType())]))


def test_record_type_refuses_names_that_spark_cannot_tell_apart() -> None:
    both = struct(Price=T.LongType(), price=T.LongType())
    assert len(read(both, case_sensitive=True).fields) == 2
    with pytest.raises(InvalidValueError, match=r"'price': .*'Price'.*spark\.sql\.caseSensitive"):
        read(both, case_sensitive=False)


def test_record_type_bounds_the_width_and_the_depth() -> None:
    wide = struct(**{f"a{number}": T.LongType() for number in range(ATTRIBUTES_MAX + 1)})
    with pytest.raises(LimitError, match="ATTRIBUTES_MAX"):
        read(wide)
    deep: Any = T.LongType()
    for _ in range(RECORD_DEPTH_MAX + 1):
        deep = struct(a=deep)
    with pytest.raises(LimitError, match="RECORD_DEPTH_MAX"):
        read(deep)


def test_sql_quotes_names() -> None:
    record = Object((("a`b", Scalar(Kind.TEXT, "STRING")), ("c d", Scalar(Kind.FLOAT, "DOUBLE"))))
    assert record.sql == "STRUCT<`a``b`: STRING, `c d`: DOUBLE>"


def test_sql_of_an_array_of_anything_is_a_defect() -> None:
    with pytest.raises(InvariantError):
        _ = Array(None).sql
