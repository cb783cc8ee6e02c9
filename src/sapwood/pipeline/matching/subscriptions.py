"""Subscriptions from a table or from files to an index that workers can map into memory.

The set is collected to the driver, within bounds, since an index is built in one place; a million
subscriptions are some hundred megabytes. What cannot be used is set aside with a reason.

**How the index reaches the workers.** It is saved as a folder, packed uncompressed, and handed to
`SparkSession.addArtifacts(..., archive=True)`. Spark brings the archive to every executor once,
unpacks it there, and Python workers map its files, so that all workers of a machine share one copy
in the page cache. Of the ways there are it is the one that works alike on a local master, on a
cluster of several processes and through Spark Connect: broadcast variables need a SparkContext,
which Connect does not have, and copy the set into the heap of every worker; a shared folder needs
one. The archive's name holds a digest of its content, so an index is never taken for another.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sapwood.errors import InputError, LimitError
from sapwood.files.lines import decode_subscription
from sapwood.limits.pipeline import PIPELINE_FILTER_CHARS_MAX, PIPELINE_SUBSCRIPTIONS_MAX
from sapwood.matching.index import Index
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.pipeline.matching.candidates import NAMESPACES, interest_columns
from sapwood.pipeline.spark.session import is_connect
from sapwood.pipeline.tables.decoding import one_line, plain_line
from sapwood.pipeline.tables.reading import shown_path
from sapwood.pipeline.tables.schemas import Rejected

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_ENGINE: Final = "columnar"

_KEPT: Final = ".kept"

_ROWS_AT_ONCE: Final = 10_000
"""Rows of a table of subscriptions that are Python's objects at a time."""


class Candidate(NamedTuple):
    """A candidate for a subscription: a line as `files.lines.decode_subscription` reads it."""

    file: str | None
    line: int | None
    raw: bytes


@dataclass(frozen=True, slots=True)
class SubscriptionSet:
    """A set of subscriptions ready for matching: an index, and its description.

    `archive` is the index (or a folder of several), packed, and `name` its name where it is
    unpacked. `attributes` are those that some filter reads, sorted; `documents` is true if any
    reads documents. The archive lives as long as this process, because Spark fetches it again for
    every executor, and every session, that comes later.
    """

    archive: Path
    name: str
    size: int
    attributes: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    documents: bool = False


def compile_subscriptions(
    subscriptions: DataFrame, *, engine: str = DEFAULT_ENGINE, size: Size | None = None
) -> SubscriptionSet:
    """Compile a table with the columns `id` and `filter`, or `xpath`, or both (text).

    Of two rows with the same id the first one is taken, by `file` and `line` where the table has
    these columns, else by the text of the filter, so that it does not depend on how the table is
    partitioned. `size` is computed where it is not given.

    Raises `InputError` for a table that lacks a column, `LimitError` for a set that is too large
    for one driver.
    """
    return compile_candidates(_rows(subscriptions, size), engine=engine)


def compile_lines(
    lines: DataFrame, *, engine: str = DEFAULT_ENGINE, size: Size | None = None
) -> SubscriptionSet:
    """Compile JSON Lines, as `reading.read_lines` gives them. Errors as `compile_subscriptions`."""
    return compile_candidates(_lines(lines, size), engine=engine)


def compile_candidates(
    candidates: Iterable[Candidate], *, engine: str = DEFAULT_ENGINE
) -> SubscriptionSet:
    """Index the good ones among the candidates, in their order, and set the others aside."""
    index = Index(records=engine, warns=False)
    first: dict[str, tuple[str | None, int | None]] = {}
    rejected: list[Rejected] = []
    attributes: set[str] = set()
    documents = False
    for file, line, raw in candidates:
        try:
            subscription = decode_subscription(raw)
            if subscription.id in first:
                where = describe_place(*first[subscription.id], beside=file)
                raise InputError(f"id {subscription.id!r} was {where} already; give it its own id")
            index.add(subscription.id, subscription.filter)
        except InputError as error:
            text = raw.decode(errors="backslashreplace")
            rejected.append(Rejected(file, line, one_line(error), text))
        else:
            first[subscription.id] = (file, line)
            attributes |= attributes_read(subscription.filter)
            documents = documents or not isinstance(subscription.filter, Filter)
    with working_folder() as work:
        index.save(work / "index")
        return packed_set(
            work / "index",
            size=len(index),
            attributes=attributes,
            rejected=rejected,
            documents=documents,
        )


@contextmanager
def working_folder() -> Iterator[Path]:
    """A folder for the length of a block."""
    work = Path(tempfile.mkdtemp(prefix="sapwood-"))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def packed_set(
    folder: Path,
    *,
    size: int,
    attributes: Iterable[str],
    rejected: Iterable[Rejected] = (),
    documents: bool = False,
) -> SubscriptionSet:
    """The set whose index, or indexes, are in a folder."""
    kept = Path(tempfile.mkdtemp(prefix="sapwood-"))
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    name = f"sapwood-index-{digest(folder)}"
    archive = pack(folder, kept / f"{name}.zip")
    known = (tuple(sorted(attributes)), tuple(rejected))
    return SubscriptionSet(archive, name, size, *known, documents=documents)


def attributes_read(filter: Interest) -> set[str]:
    """The attributes whose values decide whether the filter accepts a record; none of a pattern."""
    if not isinstance(filter, Filter):
        return set()
    return {name for conjunction in filter.conjunctions for name, _ in conjunction.constraints}


def ship(spark: SparkSession, compiled: SubscriptionSet) -> None:
    """Bring the index to the executors of `spark`; again does nothing."""
    if not is_connect(spark):
        # Classic Spark would warn of a second copy; Connect compares, and passes over it.
        from pyspark import SparkFiles

        if (Path(SparkFiles.getRootDirectory()) / compiled.name).is_dir():
            return
    spark.addArtifacts(f"{compiled.archive}#{compiled.name}", archive=True)


def digest(folder: Path) -> str:
    """A name for the content of a folder: equal for equal files with equal names."""
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32))
        total.update(f"{path.relative_to(folder)}\0{content.hexdigest()}\n".encode())
    return total.hexdigest()


def pack(folder: Path, archive: Path) -> Path:
    """The folder as a zip file: equal bytes for equal folders.

    Spark Connect compares the bytes of two archives of one name. Nothing is compressed: arrays
    hardly shrink, and time is dear.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as target:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir():
                # An engine's folder may be empty, and Spark unpacks only what has a file in it.
                if not any(path.iterdir()):
                    target.writestr(zipfile.ZipInfo(f"{name}/{_KEPT}"), b"")
                continue
            entry = zipfile.ZipInfo(name)  # dated 1980, not now
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, target.open(entry, "w", force_zip64=True) as packed:
                shutil.copyfileobj(source, packed)
    return archive


def describe_place(file: str | None, line: int | None, *, beside: str | None) -> str:
    """A place in words; the file is only named where it is not the one `beside`."""
    if line is None:
        return "there"
    return f"on line {line}" if file == beside else f"on line {line} of {file}"


def _rows(subscriptions: DataFrame, size: Size | None) -> Iterator[Candidate]:
    import msgspec

    types = {field.name: field.dataType.typeName() for field in subscriptions.schema.fields}
    members = interest_columns({name: type_ for name, type_ in types.items() if name != "home"})
    texts = [name for name in members if name != NAMESPACES]
    places = [name for name in ("file", "line") if name in types]
    table = subscriptions.select(*members, *places)
    _check_size(measured(table, interest_chars(texts[1:])) if size is None else size)
    for row in _collected(table, order=(*places, *texts)):
        said = {name: row[name] for name in members}
        if said.get(NAMESPACES) is not None:
            said[NAMESPACES] = dict(said[NAMESPACES])
        yield Candidate(row.get("file"), row.get("line"), msgspec.json.encode(said))


def interest_chars(names: Sequence[str]) -> Column:
    """The length of a row's interest, which one of these columns holds."""
    from pyspark.sql import functions as F  # noqa: N812

    lengths = [F.coalesce(F.char_length(name), F.lit(0)) for name in names]
    return reduce(lambda total, one: total + one, lengths)


def _lines(lines: DataFrame, size: Size | None) -> Iterator[Candidate]:
    """The lines that are not blank, in the order of files and lines."""
    from pyspark.sql import functions as F  # noqa: N812

    _check_size(measured(lines, F.length("value")) if size is None else size)
    # A task reads a piece in order, and collecting keeps the order of each task's rows.
    pieces: dict[tuple[str, int], list[bytes]] = {}
    for row in _collected(lines.withColumn("name", shown_path(F.col("file")))):
        pieces.setdefault((row["name"], row["block"]), []).append(row["value"])
    file, number = None, 0
    for (name, block), values in sorted(pieces.items()):
        if name != file:
            file, number = name, 0
        for value in values:
            number += 1
            raw = plain_line(value, first=block == 0 and number == 1)
            if raw and not raw.isspace():
                yield Candidate(file, number, raw)


class Size(NamedTuple):
    """The size of a set: the number of subscriptions, and the length of all filters together."""

    subscriptions: int
    chars: int


def measured(table: DataFrame, chars: Column) -> Size:
    """The size of a set, of which `chars` is the length of one subscription's filter."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = table.agg(F.count(F.lit(1)), F.coalesce(F.sum(chars), F.lit(0))).first()
    assert sums is not None, "an aggregate without keys has one row"
    return Size(*sums)


def _check_size(size: Size) -> None:
    """Refuse a set that this driver could not hold, before it is collected."""
    for name, bound, actual, subject in (
        (
            "PIPELINE_SUBSCRIPTIONS_MAX",
            PIPELINE_SUBSCRIPTIONS_MAX,
            size.subscriptions,
            "the number of subscriptions",
        ),
        (
            "PIPELINE_FILTER_CHARS_MAX",
            PIPELINE_FILTER_CHARS_MAX,
            size.chars,
            "the length of all filters together",
        ),
    ):
        if actual > bound:
            raise LimitError(name, bound, actual, subject)


def _collected(table: DataFrame, order: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows of a table, some at a time; in the order of these columns, nulls last, if any."""
    import pyarrow.compute as pc

    held = table.toArrow()
    if not order:
        for batch in held.to_batches():
            yield from batch.to_pylist()
        return
    # Rows that are here already are sorted here: Spark would read them twice and shuffle them.
    held = held.combine_chunks()  # Rows are taken from one array quicker than from many.
    places = pc.sort_indices(held, sort_keys=[(name, "ascending") for name in order])
    for start in range(0, len(places), _ROWS_AT_ONCE):
        yield from held.take(places[start : start + _ROWS_AT_ONCE]).to_pylist()
