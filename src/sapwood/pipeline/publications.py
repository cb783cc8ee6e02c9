"""Publications as a DataFrame: what it must look like, which rows are none, what filters read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import InputError
from sapwood.pipeline.attributes import Array, Kind, Leaf, Object, Scalar, leaves, record_type
from sapwood.pipeline.reading import column_named
from sapwood.pipeline.records import parse_record
from sapwood.pipeline.schemas import CHECKED, REJECTED_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_NO_ID: Final = 'a publication needs an "id": a text that is not empty'
_NO_ATTRIBUTES: Final = 'a publication needs "attributes"'


@dataclass(frozen=True, slots=True)
class Shape:
    """What the column `attributes` is: a struct of this type, or with `None` JSON text."""

    record: Object | None

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The attributes that filters can see, where they are columns."""
        return tuple(leaf for leaf in self._all() if isinstance(leaf.type, Scalar))

    @property
    def arrays(self) -> tuple[Leaf, ...]:
        """The arrays that filters cannot see, where they are columns."""
        return tuple(leaf for leaf in self._all() if isinstance(leaf.type, Array))

    def _all(self) -> Iterator[Leaf]:
        return iter(()) if self.record is None else leaves(self.record)


def as_publications(
    frame: DataFrame,
    *,
    id_columns: str | Sequence[str],
    attributes: Sequence[str] | None = None,
    keep: Sequence[Column] = (),
) -> DataFrame:
    """Publications from the rows of any table.

    `id_columns` names the column that identifies a row; of several the texts are joined by `/`.
    `attributes` names the columns to carry; left out, all are, except a single id column. Columns
    to `keep` stay beside the publication. A row whose id is null is one that
    `rejected_publications` lists.
    """
    from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

    names = [id_columns] if isinstance(id_columns, str) else list(id_columns)
    if not names:
        raise InputError("name at least one column that identifies a row")
    if attributes is None:
        attributes = [c for c in frame.columns if [c] != names]
    missing = [name for name in (*names, *attributes) if name not in frame.columns]
    if missing:
        raise InputError(
            f"there is no column {missing[0]!r} in the table; it has {', '.join(frame.columns)}"
        )
    parts = [column_named(frame, name).cast("string") for name in names]
    joined = [part for column in parts for part in (F.lit("/"), column)][1:]
    # concat is null as soon as one part is, as an id must be; concat_ws would pass over the part.
    id_ = F.concat(*joined).alias("id")
    record = F.struct(*(column_named(frame, name).alias(name) for name in attributes))
    return frame.select(id_, record.alias("attributes"), *keep)


def shape_of(publications: DataFrame) -> Shape:
    """What the attributes of a publications table are.

    Raises `InputError` for a table that is none, and for columns whose type no attribute has.
    """
    columns = {field.name: field.dataType for field in publications.schema.fields}
    if "id" not in columns or "attributes" not in columns:
        raise InputError(
            f"a table of publications has the columns id and attributes, this one has "
            f"{', '.join(columns) or 'none'}; make one of any table with "
            "sapwood.pipeline.as_publications(table, id_columns=...)"
        )
    if columns["id"].typeName() not in ("string", "char", "varchar"):
        raise InputError(
            f"the ids of publications are texts, not {columns['id'].simpleString().upper()}; cast "
            "the column id to STRING"
        )
    kind = columns["attributes"].typeName()
    if kind == "string":
        return Shape(None)
    if kind != "struct":
        raise InputError(
            f"the column attributes is {columns['attributes'].simpleString().upper()}; it must be "
            "a struct with one field per attribute, or a JSON object as STRING"
        )
    setting = publications.sparkSession.conf.get("spark.sql.caseSensitive")
    return Shape(record_type(columns["attributes"], case_sensitive=setting == "true"))


def select_read(
    publications: DataFrame, shape: Shape, read: Sequence[str]
) -> tuple[DataFrame, tuple[str, ...] | None]:
    """The id and what filters that read the attributes `read` need, and the names of the latter.

    Each attribute is a column of one of the four types that filters know. For JSON text it is the
    text, and the names are `None`. Rows that are no publications are left out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    valid = publications.where(is_publication(shape))
    if shape.record is None:
        return valid.select("id", "attributes"), None
    wanted = set(read)
    chosen = [
        leaf for leaf in shape.leaves if leaf.name in wanted and _kind(leaf) is not Kind.NOTHING
    ]
    # Numbered, because mapInArrow looks its columns up by name, where a dot means a field and
    # "id" would be there twice.
    columns = [
        _leaf_column(leaf).cast(_kind(leaf).value).alias(f"attribute{place}")
        for place, leaf in enumerate(chosen)
    ]
    return valid.select(F.col("id"), *columns), tuple(leaf.name for leaf in chosen)


def is_publication(shape: Shape) -> Column:
    """Whether a row is a publication: exactly where `fault` is null.

    Written as a conjunction of plain conditions, which Spark can push into the reading of Parquet;
    the text of `fault` would make it read every field of the struct.
    """
    from pyspark.sql import functions as F  # noqa: N812

    id_ = F.col("id")
    conditions = [id_.isNotNull(), id_ != "", F.col("attributes").isNotNull()]
    # Spark's isnan is false for null.
    conditions += [~F.isnan(_leaf_column(leaf)) for leaf in _floats(shape)]
    return reduce(lambda both, one: both & one, conditions)


def fault(shape: Shape) -> Column:
    """Why a row is no publication, as text; null for a good one.

    What is wrong with a JSON text is not seen here: see `rejected_publications`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    id_, attributes = F.col("id"), F.col("attributes")
    faults = [
        F.when(id_.isNull() | (id_ == ""), F.lit(_NO_ID)),
        F.when(attributes.isNull(), F.lit(_NO_ATTRIBUTES)),
    ]
    faults += [
        F.when(
            F.isnan(_leaf_column(leaf)),
            F.lit(f"attribute {leaf.name!r}: NaN has no place in an order; leave it out"),
        )
        for leaf in _floats(shape)
    ]
    return F.coalesce(*faults)


def checked_publications(publications: DataFrame) -> DataFrame:
    """What is to be said about rows of a publications table: `CHECKED`.

    One row for each row that is no publication, with the reason, and one, without a reason, for
    each good one with arrays, which filters cannot see. Columns `file` and `line` are passed on
    where the table has them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    shape = shape_of(publications)
    places = [
        (F.col(name) if name in publications.columns else F.lit(None)).cast(kind).alias(name)
        for name, kind in (("file", "string"), ("line", "bigint"))
    ]
    reason = fault(shape).alias("reason")
    if shape.record is None:
        checked = publications.select(*places, reason, F.col("attributes").alias("text"))
        return checked.mapInArrow(check_texts, CHECKED)
    text = F.to_json(F.struct("id", "attributes")).alias("text")
    told = publications.select(*places, reason, text, invisible_arrays(shape).alias("invisible"))
    return told.where("reason IS NOT NULL OR invisible > 0")


def invisible_arrays(shape: Shape) -> Column:
    """How many arrays a row has that filters cannot see, where attributes are columns."""
    from pyspark.sql import functions as F  # noqa: N812

    arrays = [_leaf_column(leaf).isNotNull().cast("int") for leaf in shape.arrays]
    return reduce(lambda total, one: total + one, arrays, F.lit(0))


def rejected_publications(publications: DataFrame) -> DataFrame:
    """The rows of a publications table that are none, with the reasons: `schemas.REJECTED`.

    `match` delivers nothing for exactly these rows.
    """
    checked = checked_publications(publications)
    return checked.where("reason IS NOT NULL").select(*REJECTED_COLUMNS)


def check_texts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that looks into JSON texts: `REJECTED` in, `CHECKED` out.

    A row that has a reason already keeps it.
    """
    import pyarrow as pa

    for batch in batches:
        told: list[dict[str, Any]] = []
        for row in batch.to_pylist():
            invisible = 0
            if row["reason"] is None:
                try:
                    invisible = parse_record(row["text"]).invisible
                except InputError as error:
                    row["reason"] = str(error)
            if row["reason"] is not None or invisible:
                told.append({**row, "invisible": invisible})
        schema = batch.schema.append(pa.field("invisible", pa.int32()))
        yield pa.RecordBatch.from_pylist(told, schema)


def _leaf_column(leaf: Leaf) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return reduce(lambda column, name: column.getField(name), leaf.path, F.col("attributes"))


def _floats(shape: Shape) -> list[Leaf]:
    return [leaf for leaf in shape.leaves if _kind(leaf) is Kind.FLOAT]


def _kind(leaf: Leaf) -> Kind:
    assert isinstance(leaf.type, Scalar), "only what filters see has a kind"
    return leaf.type.kind
