"""Rows of Parquet files as a worker reads them: batches as the JVM would have sent them.

Through `mapInArrow` a worker gets of a table the id and the `Carried` columns, of rows that are
publications. Here the same comes straight out of row groups, with the same rows left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sapwood.errors import FileFormatError
from sapwood.limits.pipeline import RECORDS_PER_MATCH_MAX
from sapwood.pipeline.spark.places import HERE, Place, Store, file_system, reason_of, shown_file
from sapwood.pipeline.tables.attributes import Kind, Scalar
from sapwood.pipeline.tables.coercion import arrow_type
from sapwood.pipeline.tables.publications import Carried

if TYPE_CHECKING:
    import pyarrow as pa

Path: TypeAlias = tuple[str, ...]
"""The names of a column and of the fields in it, from the outside in."""

DOCUMENT: Final = ("document",)


class Places(NamedTuple):
    """The columns of files that hold publications, as these may have any names.

    The texts of several `ids` are joined by `/`. The `record` is a struct, or JSON text; if the
    path is empty, the columns of the file are its attributes, and each row has one.
    """

    ids: tuple[Path, ...] = (("id",),)
    record: Path = ("attributes",)


class Groups(NamedTuple):
    """Row groups of one file, by their numbers."""

    file: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Reads publications out of row groups of files in a `store`.

    `columns` are the attributes that are carried, in the order of `carried.attributes`, each with
    its kind; `nan_checked` are columns that are only checked for NaN. Names in files may be spelled
    otherwise if Spark does not distinguish them, i.e. unless `case_sensitive`; all paths here are
    `known_as` such.
    """

    places: Places
    carried: Carried
    columns: Sequence[tuple[Path, Kind | None]]
    nan_checked: Sequence[Path]
    case_sensitive: bool
    store: str = HERE

    def batches(self, groups: Groups) -> Iterator[pa.RecordBatch]:
        """The publications in these row groups: the id and the carried columns.

        Raises `FileFormatError` for a file that is not there, is damaged, or has changed.
        """
        place = Place(self.store, groups.file)
        with file_faults(place), open_parquet(place) as file:
            columns = self._columns_in(file.schema_arrow)
            # From a store all that a reader requests comes at once and stays: a group at a time.
            asked = [groups.numbers] if self.store == HERE else [(n,) for n in groups.numbers]
            for numbers in asked:
                for batch in file.iter_batches(
                    RECORDS_PER_MATCH_MAX,
                    row_groups=list(numbers),
                    columns=columns,
                    use_threads=False,
                ):
                    yield self._publications(batch)

    def _columns_in(self, schema: pa.Schema) -> list[str]:
        """The columns of a file that are to be read, as pyarrow names them.

        Something of the record is always among them, as only that shows whether there is one.
        """
        paths = [path for field in schema for path in _paths(field, ())]
        needed = set(self._needed())
        read = [path for path in paths if self._known(path) in needed]
        if not any(map(self._is_in_record, read)):
            read += list(filter(self._is_in_record, paths))[:1]
        return [".".join(path) for path in read]

    def _needed(self) -> Iterator[Path]:
        yield from self.places.ids
        if self.carried.documents:
            yield DOCUMENT
        if self.carried.attributes is None:
            yield self.places.record
        yield from (path for path, _ in self.columns)
        yield from self.nan_checked

    def _is_in_record(self, path: Path) -> bool:
        record = self.places.record
        return self._known(path[: len(record)]) == record

    def _publications(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of a batch that travel, of the rows that are publications."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = zip(batch.schema, batch.columns, strict=True)
        arrays = {
            self._known(path): array
            for field, column in columns
            for path, array in _fields((field.name,), column)
        }
        read = _Read(arrays, batch.num_rows)
        ids, is_record = self._ids(read), read.is_there(self.places.record)
        is_good, beside = is_record, []
        if self.carried.documents:
            documents = read.column(DOCUMENT, Kind.TEXT)
            beside = [documents, is_record]
            is_good = pc.or_(is_record, pc.is_valid(documents))
        if self.carried.attributes is None:
            beside.append(read.column(self.places.record, Kind.TEXT))
        made = [ids, *beside, *(read.column(path, kind) for path, kind in self.columns)]
        is_good = pc.and_(is_good, _is_id(ids))
        for path in self.nan_checked:
            is_nan = pc.is_nan(read.column(path, Kind.FLOAT))
            is_good = pc.and_not(is_good, pc.fill_null(is_nan, False))  # noqa: FBT003 - as Arrow has it
        names = ["id", *(f"column{place}" for place in range(1, len(made)))]
        rows = pa.RecordBatch.from_arrays(made, names=names)
        return rows if pc.all(is_good).as_py() is not False else rows.filter(is_good)

    def _ids(self, read: _Read) -> pa.Array:
        """The ids; null as soon as a part of one is."""
        import pyarrow.compute as pc

        parts = [read.column(path, Kind.TEXT) for path in self.places.ids]
        return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "/")

    def _known(self, path: Path) -> Path:
        return known_as(path, case_sensitive=self.case_sensitive)


@dataclass(frozen=True, slots=True)
class PartReader:
    """Reads parts of a lake by their numbers; `parts` are the row groups that go by these."""

    reader: GroupReader
    parts: Sequence[Sequence[Groups]]

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The publications of all parts whose numbers are in the first column."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for groups in self.parts[number]:
                    yield from self.reader.batches(groups)


def open_parquet(place: Place) -> pa.parquet.ParquetFile:
    """A Parquet file; in a store its column chunks are requested together, and not page by page."""
    import pyarrow.parquet as pq

    files = file_system(place.store)
    return pq.ParquetFile(place.path, filesystem=files, pre_buffer=files is not None)


def footer_in(store: Store, path: str) -> pa.parquet.FileMetaData:
    """The footer of a Parquet file in a store. Raises `FileFormatError`."""
    import pyarrow.parquet as pq

    with file_faults(Place(store.uri, path)):
        return pq.read_metadata(path, filesystem=store.files)


@contextmanager
def file_faults(place: Place) -> Iterator[None]:
    """Raise errors of a file as `FileFormatError`: not there, damaged, or changed."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise FileFormatError(
            shown_file(place), "is not where this executor can read it, or not any more"
        ) from None
    except (OSError, IndexError, pa.ArrowException) as error:
        said = reason_of(error, place.store)
        raise FileFormatError(shown_file(place), f"cannot be read: {said}") from None


def known_as(path: Path, *, case_sensitive: bool) -> Path:
    """A path by which a column is known, however a file spells it."""
    return path if case_sensitive else tuple(map(str.lower, path))


def is_readable(schema: pa.Schema, id_columns: Collection[str]) -> bool:
    """True if pyarrow reads all columns of a file with this schema, and ids as Spark would.

    It does not read fields of structs that were written from dictionaries. As texts, integers look
    the same to both; floats and times do not.
    """
    import pyarrow as pa

    ids = [field.type for field in schema if field.name.lower() in id_columns]
    within = [type_ for field in schema for type_ in _types_within(field.type)]
    return all(map(_is_same_as_text, ids)) and not any(map(pa.types.is_dictionary, within))


def _is_same_as_text(type_: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    alike = (pa.types.is_string, pa.types.is_large_string, pa.types.is_signed_integer)
    return any(is_kind(type_) for is_kind in alike)


class _Read(NamedTuple):
    """The columns and fields of a batch that a file has, by their paths."""

    arrays: Mapping[Path, pa.Array]
    rows: int

    def column(self, path: Path, kind: Kind | None) -> pa.Array:
        """A column as it is carried; nulls where the file lacks what other files have.

        Without a kind it is one of lists, and carried as it is.
        """
        import pyarrow as pa

        array = self.arrays.get(path)
        if kind is None:
            return pa.nulls(self.rows, pa.list_(pa.null())) if array is None else array
        type_ = arrow_type(Scalar(kind, kind.value))
        if array is None:
            return pa.nulls(self.rows, type_)
        return array if array.type == type_ else array.cast(type_)

    def is_there(self, path: Path) -> pa.Array:
        """True where a column is not null; a row as a whole, the empty path, is always there."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not path:
            return pa.repeat(pa.scalar(True), self.rows)  # noqa: FBT003 - as Arrow has it
        array = self.arrays.get(path)
        return pc.is_valid(pa.nulls(self.rows) if array is None else array)


def _is_id(ids: pa.Array) -> pa.Array:
    """True where there is an id, a text that is not empty."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.greater(pc.binary_length(ids), 0), False)  # noqa: FBT003 - as Arrow has it


def _paths(field: pa.Field, outer: Path) -> Iterator[Path]:
    """The paths of all columns in a field that are no structs themselves."""
    import pyarrow as pa

    path = (*outer, field.name)
    if pa.types.is_struct(field.type):
        for inner in field.type:
            yield from _paths(inner, path)
    else:
        yield path


def _types_within(type_: pa.DataType) -> Iterator[pa.DataType]:
    """The types of all fields, keys, values and elements in a type."""
    for place in range(type_.num_fields):
        inner = type_.field(place).type
        yield inner
        yield from _types_within(inner)


def _fields(path: Path, array: pa.Array) -> Iterator[tuple[Path, pa.Array]]:
    """A column and all fields in it; a field is null where its struct is null."""
    import pyarrow as pa

    yield path, array
    if pa.types.is_struct(array.type):
        for field, inner in zip(array.type, array.flatten(), strict=True):
            yield from _fields((*path, field.name), inner)
