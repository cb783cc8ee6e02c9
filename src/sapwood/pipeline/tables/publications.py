"""Tables of publications: their columns, the faults of rows, and the columns that filters read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import InputError
from sapwood.pipeline.tables.attributes import (
    Array,
    Kind,
    Leaf,
    Object,
    Scalar,
    leaves,
    record_type,
)
from sapwood.pipeline.tables.reading import column_named
from sapwood.pipeline.tables.records import parse_document, parse_record
from sapwood.pipeline.tables.schemas import REJECTED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_NO_ID: Final = 'a publication needs an "id": a text that is not empty'
_NO_ATTRIBUTES: Final = 'a publication needs "attributes"'


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of the column `attributes`: a struct of this type, or with `None` JSON text.

    `documents` is true if there is a column `document` beside it, XML as text.
    """

    record: Object | None
    documents: bool = False

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The attributes that are no arrays, where they are columns."""
        return tuple(leaf for leaf in self.all if isinstance(leaf.type, Scalar))

    @property
    def arrays(self) -> tuple[Leaf, ...]:
        """The arrays, whose elements filters see, where they are columns."""
        return tuple(leaf for leaf in self.all if isinstance(leaf.type, Array))

    @property
    def all(self) -> Iterator[Leaf]:
        """All attributes and arrays, in their order."""
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
    """The shape of a publications table.

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
    documents = "document" in columns
    if documents and columns["document"].typeName() not in ("string", "char", "varchar"):
        raise InputError("documents are XML as text; cast the column document to STRING")
    if kind == "string":
        return Shape(None, documents)
    if kind != "struct":
        raise InputError(
            f"the column attributes is {columns['attributes'].simpleString().upper()}; it must be "
            "a struct with one field per attribute, or a JSON object as STRING"
        )
    setting = publications.sparkSession.conf.get("spark.sql.caseSensitive")
    record = record_type(columns["attributes"], case_sensitive=setting == "true")
    return Shape(record, documents)


class Needs(NamedTuple):
    """The attributes that filters read, and whether they read documents."""

    attributes: Sequence[str]
    documents: bool = False


class Carried(NamedTuple):
    """The columns that travel to a worker, after the id.

    With `documents` the document as text, and whether there is a record; then a column for each of
    `attributes`, or the record as JSON text where these are `None`. If `whole`, the record travels
    as it is, a struct whose attributes these are, in their order.
    """

    attributes: tuple[str, ...] | None
    documents: bool = False
    whole: bool = False


def select_read(publications: DataFrame, shape: Shape, needs: Needs) -> tuple[DataFrame, Carried]:
    """The id and the columns that filters need, and a description of these columns.

    Each attribute is a column of one of the four types that filters know, or a list. A record all
    of whose attributes are read stays as it is, which saves the JVM a copy of every row. For JSON
    text it is the text. Rows that are no publications are left out, and those without a record as
    well, unless documents are needed; but NaN in an attribute that travels without documents is
    found by the worker, which reads the values in any case.
    """
    from pyspark.sql import functions as F  # noqa: N812

    documents = needs.documents and shape.documents
    chosen = read_leaves(shape, needs)
    checked = () if documents else {leaf.name for leaf in chosen}
    valid = publications.where(is_publication(replace(shape, documents=documents), checked))
    beside = (
        [F.col("document"), F.col("attributes").isNotNull().alias("has_record")]
        if documents
        else []
    )
    if shape.record is None:
        return valid.select("id", *beside, "attributes"), Carried(None, documents)
    names = tuple(leaf.name for leaf in chosen)
    if chosen and not documents and chosen == tuple(leaves(shape.record)):
        return valid.select("id", F.col("attributes").alias("record")), Carried(names, whole=True)
    # Numbered, because mapInArrow looks its columns up by name, where a dot means a field and
    # "id" would be there twice.
    columns = [
        _carried_column(leaf).alias(f"attribute{place}") for place, leaf in enumerate(chosen)
    ]
    return valid.select(F.col("id"), *beside, *columns), Carried(names, documents)


def read_leaves(shape: Shape, needs: Needs) -> tuple[Leaf, ...]:
    """The attributes that filters read and that are there, where they are columns.

    Of an array filters may read members of its elements, under names below its own.
    """
    read = set(needs.attributes)
    return tuple(leaf for leaf in shape.all if _is_read(leaf, read))


def _is_read(leaf: Leaf, read: Collection[str]) -> bool:
    if isinstance(leaf.type, Scalar):
        return leaf.name in read and kind_of(leaf) is not Kind.NOTHING
    return leaf.name in read or any(name.startswith(f"{leaf.name}.") for name in read)


def is_publication(shape: Shape, checked_elsewhere: Collection[str] = ()) -> Column:
    """The condition that a row is a publication: exactly where `fault` is null.

    But NaN in attributes that are `checked_elsewhere` is ignored here.

    Written as a conjunction of plain conditions, which Spark can push into the reading of Parquet;
    the text of `fault` would make it read every field of the struct.
    """
    from pyspark.sql import functions as F  # noqa: N812

    id_ = F.col("id")
    something = F.col("attributes").isNotNull()
    if shape.documents:
        something = something | F.col("document").isNotNull()
    conditions = [id_.isNotNull(), id_ != "", something]
    # Spark's isnan is false for null.
    floats = [leaf for leaf in float_leaves(shape) if leaf.name not in checked_elsewhere]
    conditions += [~F.isnan(_leaf_column(leaf)) for leaf in floats]
    return reduce(lambda both, one: both & one, conditions)


def fault(shape: Shape) -> Column:
    """The reason why a row is no publication, as text; null for a good row.

    Faults of a JSON text are not seen here: see `rejected_publications`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    id_, is_nothing = F.col("id"), F.col("attributes").isNull()
    if shape.documents:
        is_nothing = is_nothing & F.col("document").isNull()
    faults = [
        F.when(id_.isNull() | (id_ == ""), F.lit(_NO_ID)),
        F.when(is_nothing, F.lit(_NO_ATTRIBUTES)),
    ]
    faults += [
        F.when(
            F.isnan(_leaf_column(leaf)),
            F.lit(f"attribute {leaf.name!r}: NaN has no place in an order; leave it out"),
        )
        for leaf in float_leaves(shape)
    ]
    return F.coalesce(*faults)


def rejected_publications(publications: DataFrame) -> DataFrame:
    """The rows of a publications table that are none, with the reasons: `schemas.REJECTED`.

    `match` delivers nothing for exactly these rows. Columns `file` and `line` are passed on where
    the table has them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    shape = shape_of(publications)
    places = [
        (F.col(name) if name in publications.columns else F.lit(None)).cast(kind).alias(name)
        for name, kind in (("file", "string"), ("line", "bigint"))
    ]
    reason = fault(shape).alias("reason")
    if shape.record is None or shape.documents:
        checked = publications.select(*places, reason, *columns_to_check(shape))
        return checked.mapInArrow(check_texts, REJECTED)
    text = F.to_json(F.struct("id", "attributes")).alias("text")
    return publications.select(*places, reason, text).where("reason IS NOT NULL")


def columns_to_check(shape: Shape) -> list[Column]:
    """The columns that only a worker can check, and the row as text: `record`, `document`, `text`.

    `record` is JSON text, null where attributes are columns.
    """
    from pyspark.sql import functions as F  # noqa: N812

    document = F.col("document") if shape.documents else F.lit(None).cast("string")
    is_text = shape.record is None
    record = F.col("attributes") if is_text else F.lit(None).cast("string")
    whole = F.to_json(F.struct("id", "attributes"))
    text = F.coalesce("attributes", document) if is_text else F.coalesce(document, whole)
    return [
        record.alias("record"),
        document.alias("document"),
        text.alias("text"),
    ]


def check_rows(batch: pa.RecordBatch) -> list[str | None]:
    """The faults of rows, `None` for good ones, by the columns of `columns_to_check`.

    A row that has a `reason` already keeps it.
    """
    reasons: list[str | None] = batch.column("reason").to_pylist()
    both = zip(
        batch.column("record").to_pylist(), batch.column("document").to_pylist(), strict=True
    )
    for row, (record, document) in enumerate(both):
        if reasons[row] is None:
            try:
                if record is not None:
                    parse_record(record)
                if document is not None:
                    parse_document(document)
            except InputError as error:
                reasons[row] = str(error)
    return reasons


def check_texts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that checks rows: `REJECTED` out, for those that are bad.

    In come `file`, `line`, `reason` and the columns of `columns_to_check`.
    """
    import pyarrow as pa

    for batch in batches:
        reasons = check_rows(batch)
        chosen = [row for row, why in enumerate(reasons) if why is not None]
        columns = [
            batch.column("file"),
            batch.column("line"),
            pa.array(reasons, pa.string()),
            batch.column("text"),
        ]
        names = ["file", "line", "reason", "text"]
        yield pa.RecordBatch.from_arrays(columns, names=names).take(pa.array(chosen, pa.int64()))


def _leaf_column(leaf: Leaf) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return reduce(lambda column, name: column.getField(name), leaf.path, F.col("attributes"))


def _carried_column(leaf: Leaf) -> Column:
    """The column of an attribute as it travels."""
    column = _leaf_column(leaf)
    return column.cast(kind_of(leaf).value) if isinstance(leaf.type, Scalar) else column


def float_leaves(shape: Shape) -> list[Leaf]:
    """The attributes that may hold NaN."""
    return [leaf for leaf in shape.leaves if kind_of(leaf) is Kind.FLOAT]


def kind_of(leaf: Leaf) -> Kind:
    """The kind of an attribute that filters see."""
    assert isinstance(leaf.type, Scalar), "only what filters see has a kind"
    return leaf.type.kind
