"""Lines of text to rows of publications: the work of `ingest`'s workers on a batch of lines.

Every line comes out as exactly one row. A good one has an id and no reason, a rejected one a reason
and the line itself, a blank one neither. So no line can be lost between the two sides without a
difference in the sums.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError, FilterSyntaxError, InputError, LimitError
from sapwood.files.lines import decode_publication, read_member, split_subscription
from sapwood.language.forms import encode_form
from sapwood.language.plain_forms import plain_form
from sapwood.language.written import Written
from sapwood.limits import LINE_BYTES_MAX
from sapwood.limits.pipeline import FORMS_REMEMBERED_MAX
from sapwood.pipeline.tables.attributes import Object, leaves
from sapwood.pipeline.tables.coercion import fit_cells, fit_record
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.xml.encodings import decode_text

if TYPE_CHECKING:
    import pyarrow as pa

PLACE_COLUMNS: Final = ("file", "block", "line")
"""The file, the byte at which the piece of it begins that one task has read, and the line's number
within that piece."""

DECODED_COLUMNS: Final = (
    *PLACE_COLUMNS,
    "id",
    "attributes",
    "document",
    "home",
    "undeclared",
    "reason",
    "text",
)

_BOM: Final = b"\xef\xbb\xbf"


class Decoded(NamedTuple):
    """Decoded lines: one element a line in each of the columns.

    `columns` are id, attributes, document, home and undeclared. `reasons` has a text for
    a rejected line; the columns are null there.
    """

    columns: tuple[pa.Array, ...]
    reasons: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class JSONDecoder:
    """Lines as `sapwood.files.lines` knows them; `record` is the declared type, if there is one.

    Without a declared type the attributes stay JSON text.
    """

    record: Object | None

    @property
    def attributes_sql(self) -> str:
        """The type of the column of attributes in Spark SQL."""
        return "STRING" if self.record is None else self.record.sql

    def __call__(self, lines: Sequence[bytes]) -> Decoded:
        """Decode lines that are not blank, without their ends."""
        import msgspec
        import pyarrow as pa

        faults: dict[int, str] = {}
        undeclared: dict[int, list[str]] = {}
        ids: list[str | None] = []
        homes: list[str | None] = []
        records: list[Any] = []
        documents: list[str | None] = []
        for row, line in enumerate(lines):
            try:
                found = decode_publication(line)
            except InputError as error:
                faults[row] = one_line(error)
                ids.append(None)
                homes.append(None)
                records.append(None)
                documents.append(None)
            else:
                ids.append(found.publication.id)
                homes.append(found.home)
                records.append(found.publication.attributes)
                document = found.publication.document
                documents.append(None if document is None else decode_text(document))
        if self.record is None:
            texts = [None if r is None else msgspec.json.encode(r).decode() for r in records]
            column = pa.array(texts, pa.string())
        else:
            column = fit_record(self.record, records, faults, undeclared)
        columns = (ids, column, homes, documents)
        return _decoded(*columns, faults=faults, undeclared=undeclared)


@dataclass(frozen=True, slots=True)
class CSVDecoder:
    """Lines of CSV (RFC 4180) with one row a line; `header` names the cells.

    A cell holds no value if it is empty or the schema's `null_value`.
    """

    header: tuple[str, ...]
    schema: DeclaredSchema
    delimiter: str = ","

    @property
    def attributes_sql(self) -> str:
        """The type of the column of attributes in Spark SQL."""
        return self.schema.record.sql

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The columns that are neither carried nor part of the id."""
        used = {leaf.name for leaf in leaves(self.schema.record)} | set(self.schema.id_columns)
        return tuple(name for name in self.header if name not in used)

    def __call__(self, lines: Sequence[bytes]) -> Decoded:
        """Decode lines that are not blank, without their ends."""
        faults: dict[int, str] = {}
        rows: list[list[str]] = []
        for row, line in enumerate(lines):
            try:
                rows.append(self._cells(line))
            except InputError as error:
                faults[row] = str(error)
                rows.append([""] * len(self.header))
        columns = {name: [row[at] for row in rows] for at, name in enumerate(self.header)}
        cells: dict[str, list[str | None]] = {
            leaf.name: [
                None if cell in ("", self.schema.null_value) else cell
                for cell in columns[leaf.name]
            ]
            for leaf in leaves(self.schema.record)
        }
        ids: list[str | None] = []
        for row, parts in enumerate(
            zip(*(columns[c] for c in self.schema.id_columns), strict=True)
        ):
            ids.append("/".join(parts))
            for name, part in zip(self.schema.id_columns, parts, strict=True):
                if not part:
                    faults.setdefault(row, f"the cell of {name!r} is empty, and the id needs it")
        nothing = [None] * len(lines)
        attributes = fit_cells(self.schema.record, cells, faults)
        return _decoded(ids, attributes, nothing, nothing, faults=faults, undeclared={})

    def _cells(self, line: bytes) -> list[str]:
        if len(line) > LINE_BYTES_MAX:
            raise LimitError(
                "LINE_BYTES_MAX", LINE_BYTES_MAX, None, "the length of the line in bytes"
            )
        cells = split_csv(line, self.delimiter)
        if len(cells) != len(self.header):
            raise InputError(f"the row has {len(cells)} cells, the header {len(self.header)}")
        return cells


@dataclass(frozen=True, slots=True)
class SubscriptionDecoder:
    """Lines with subscriptions; the attributes are the filter's normal form (`normalforms`).

    Filters that name no dialect are in `dialect`.
    """

    dialect: str | None = None

    @property
    def attributes_sql(self) -> str:
        """The type of the column of attributes in Spark SQL."""
        return "BINARY"

    def __call__(self, lines: Sequence[bytes]) -> Decoded:
        """Decode lines that are not blank, without their ends."""
        import pyarrow as pa

        faults: dict[int, str] = {}
        ids: list[str | None] = []
        homes: list[str | None] = []
        forms: list[bytes | None] = []
        for row, line in enumerate(lines):
            try:
                split = split_subscription(line, self.dialect)
                form = form_of(split.interest)
            except InputError as error:
                faults[row] = one_line(error)
                ids.append(None)
                homes.append(None)
                forms.append(None)
            else:
                ids.append(split.id)
                homes.append(split.home)
                forms.append(form)
        column = pa.array(forms, pa.binary())
        nothing = [None] * len(lines)
        return _decoded(ids, column, homes, nothing, faults=faults, undeclared={})


class LineDecoder(Protocol):
    """Turns lines into columns."""

    @property
    def attributes_sql(self) -> str:
        """The type of the column of attributes in Spark SQL."""

    def __call__(self, lines: Sequence[bytes]) -> Decoded:
        """Decode lines that are not blank, without their ends."""


def form_of(written: Written) -> bytes:
    """The normal form of a filter's text. Raises `InputError` for a text that is no filter."""
    is_plain = written.language == "filter" and written.dialect is None
    plain = plain_form(written.text) if is_plain else None
    return _parsed_form(written) if plain is None else plain


@lru_cache(maxsize=FORMS_REMEMBERED_MAX)
def _parsed_form(written: Written) -> bytes:
    """As `form_of`, by the parser: people repeat each other, and that is what costs.

    Depends on the text alone.
    """
    return encode_form(read_member(written))


class LineNumbers:
    """Numbers the lines of each piece of a file from 1, across batches."""

    def __init__(self) -> None:
        self._file: object = None
        self._block: object = None
        #: The number of the last line seen, in the piece named by the two fields above.
        self._last = 0

    def number(self, files: pa.Array, blocks: pa.Array) -> npt.NDArray[np.int64]:
        """The numbers of the next lines, which come from these files and pieces, in order."""
        rows = len(files)
        if not rows:
            return np.empty(0, np.int64)
        begins = np.ones(rows, np.bool_)
        begins[0] = (files[0].as_py(), blocks[0].as_py()) != (self._file, self._block)
        begins[1:] = _changes(files) | _changes(blocks)
        places = np.arange(rows)
        numbers = places + 1 - np.maximum.accumulate(np.where(begins, places, 0))
        if not begins[0]:  # The first lines go on where the batch before has ended.
            goes_on = rows if not begins.any() else int(begins.argmax())
            numbers[:goes_on] += self._last
        self._file, self._block = files[-1].as_py(), blocks[-1].as_py()
        self._last = int(numbers[-1])
        return numbers


def _changes(column: pa.Array) -> npt.NDArray[np.bool_]:
    """True where an element differs from the one before it, for all but the first."""
    import pyarrow.compute as pc

    changes: npt.NDArray[np.bool_] = pc.not_equal(column[1:], column[:-1]).to_numpy(
        zero_copy_only=False
    )
    return changes


@dataclass(frozen=True, slots=True)
class DecodeLines:
    """The function for `mapInArrow`: lines with their place in, rows of `decoded_sql` out.

    In comes (file, block, value): the file, the byte at which the task's piece of it begins, and
    the line as bytes, in order. `header` is the first line of every file, where there is one.
    """

    decoder: LineDecoder
    header: bytes | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode all batches of one task."""
        import pyarrow as pa

        numbering = LineNumbers()
        for batch in batches:
            files, blocks, values = batch.columns
            numbers = numbering.number(files, blocks)
            lines = [plain_line(value) for value in values.to_pylist()]
            for row in (numbers == 1).nonzero()[0]:
                if blocks[row].as_py() == 0:
                    lines[row] = self._first_line(lines[row], files[row].as_py())
            filled = [row for row, line in enumerate(lines) if line and not line.isspace()]
            decoded = self.decoder([lines[row] for row in filled])
            reasons = _spread(decoded.reasons, filled, len(lines))
            # Every line travels back, not only the rejected ones: a good line is rejected later
            # when its id turns out to have been taken, and then it must be there as it was.
            texts = [line.decode(errors="backslashreplace") for line in lines]
            back = _back_index(filled, len(lines))
            yield pa.RecordBatch.from_arrays(
                [
                    files,
                    blocks,
                    pa.array(numbers),
                    *(column.take(back) for column in decoded.columns),
                    pa.array(reasons, pa.string()),
                    pa.array(texts, pa.string()),
                ],
                names=list(DECODED_COLUMNS),
            )

    def _first_line(self, line: bytes, file: str) -> bytes:
        """The first line of a file without its byte order mark; blank if it is the header."""
        line = plain_line(line, first=True)
        if self.header is None:
            return line
        if line != self.header:
            raise FileFormatError(
                file,
                "its header is not that of the other files; all files of one input need the "
                "same columns in the same order",
                1,
            )
        return b""


def decoded_sql(decoder: LineDecoder) -> str:
    """The columns that `DecodeLines` gives, as DDL."""
    return (
        f"file STRING, block BIGINT, line BIGINT, id STRING, attributes {decoder.attributes_sql}, "
        "document STRING, home STRING, undeclared ARRAY<STRING>, reason STRING, "
        "text STRING"
    )


def plain_line(value: bytes, *, first: bool = False) -> bytes:
    """A line without the rest of its end, and without the mark that may begin a file."""
    line = value.removesuffix(b"\r")
    return line.removeprefix(_BOM) if first else line


def split_csv(line: bytes, delimiter: str) -> list[str]:
    """The cells of one line of CSV.

    Raises `InputError` for bytes that are no UTF-8 and for a quoted cell that does not end on this
    line: rows that span lines cannot be read in pieces, by several tasks at once.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8"
        ) from None
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(
            f"not CSV with one row a line ({error}); read rows that span lines with "
            "spark.read.csv(..., multiLine=True) and sapwood.pipeline.as_publications"
        ) from None


def one_line(error: InputError) -> str:
    """The reason without the pointer into a filter's text, which stands beside it in full."""
    if isinstance(error, FilterSyntaxError):
        return f"{error.reason}, at position {error.position + 1} of the filter"
    return str(error)


def _decoded(
    ids: Sequence[str | None],
    attributes: pa.Array,
    homes: Sequence[str | None],
    documents: Sequence[str | None],
    *,
    faults: Mapping[int, str],
    undeclared: Mapping[int, list[str]],
) -> Decoded:
    import pyarrow as pa

    reasons = [faults.get(row) for row in range(len(ids))]
    good = pa.array([reason is None for reason in reasons], pa.bool_())
    names = [undeclared.get(row) for row in range(len(ids))]
    columns = (
        pa.array(ids, pa.string()),
        attributes,
        pa.array(documents, pa.string()),
        pa.array(homes, pa.string()),
        pa.array(names, pa.list_(pa.string())),
    )
    place = pa.array(np.arange(len(ids)), mask=~good.to_numpy(zero_copy_only=False))
    return Decoded(tuple(column.take(place) for column in columns), reasons)


def _back_index(filled: Sequence[int], rows: int) -> pa.Array:
    """For each of `rows` the place in `filled` that holds it; null where none does."""
    import pyarrow as pa

    index = np.zeros(rows, np.int64)
    absent = np.ones(rows, np.bool_)
    index[list(filled)] = np.arange(len(filled))
    absent[list(filled)] = False
    return pa.array(index, mask=absent)


def _spread(values: Sequence[str | None], filled: Sequence[int], rows: int) -> list[str | None]:
    """A list of `rows` elements with the values at the places `filled`."""
    spread: list[str | None] = [None] * rows
    for row, value in zip(filled, values, strict=True):
        spread[row] = value
    return spread
