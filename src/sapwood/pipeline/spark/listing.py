"""The listing of a folder in a store: the files that belong to the result there.

Names that begin with `_` or `.` are hidden, as for Spark, and so are folders within but those of
partitions, `day=1`. While a result is put in place of another (`committing`), files of both are
there and no `_SUCCESS`; then `_MANIFEST` names those that belong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from sapwood.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

SUCCESS: Final = "_SUCCESS"
MANIFEST: Final = "_MANIFEST"
AT_ONCE: Final = 32
"""Requests to a store at a time: each is some ten to hundred milliseconds of waiting."""

_HIDDEN: Final = ("_", ".")
_PATTERN: Final = re.compile(r"[*\[]")

In = TypeVar("In")
Out = TypeVar("Out")


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of a folder that are its content, by their names.

    As JSON: `{"files":["part-00000-5f0c....parquet","part-00001-5f0c....parquet"]}`.
    """

    files: tuple[str, ...]


class Listed(NamedTuple):
    """The paths found in a folder: the files that can be seen, and those that belong.

    `is_settled` is true if these are the same and stay so: no job is putting others there.
    """

    seen: tuple[str, ...]
    belong: tuple[str, ...]
    is_settled: bool
    has_manifest: bool


def listed(files: pa.fs.FileSystem, path: str) -> tuple[str, ...]:
    """The files that belong to a path: to a file, a folder, or a pattern; sorted.

    A pattern has `*` or `[...]`, within a name. There are none if nothing is there. Raises
    `OSError` where the store cannot be reached.
    """
    import pyarrow.fs as pa_fs

    if _PATTERN.search(path):
        return _matching(files, path)
    (info,) = files.get_file_info([path])
    if info.type == pa_fs.FileType.File:
        return (path,)
    return look_into(files, path).belong


def look_into(files: pa.fs.FileSystem, folder: str) -> Listed:
    """The listing of a folder."""
    names = _names(files, folder)
    seen = tuple(f"{folder}/{name}" for name in names if _is_seen(name))
    settled, manifest = SUCCESS in names, MANIFEST in names
    if settled or not manifest:
        return Listed(seen, seen, settled, manifest)
    named = {f"{folder}/{name}" for name in read_manifest(files, folder).files}
    belong = tuple(path for path in seen if path in named)
    if len(belong) != len(named):
        raise FileFormatError(
            folder, f"lacks files that its {MANIFEST} names: it is being replaced; read it again"
        )
    return Listed(seen, belong, is_settled=False, has_manifest=True)


def read_manifest(files: pa.fs.FileSystem, folder: str) -> Manifest:
    """The manifest of a folder. Raises `FileFormatError` where it is none."""
    path = f"{folder}/{MANIFEST}"
    with files.open_input_stream(path) as stream:
        content = stream.read()
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise FileFormatError(path, f"is no manifest of a result: {error}") from None


def at_once(work: Callable[[In], Out], tasks: Sequence[In]) -> list[Out]:
    """The results of some tasks that mostly wait for a store, in order."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(work, tasks))


def rows_in(files: pa.fs.FileSystem, path: str) -> int:
    """The number of rows of a Parquet file, by its footer, or of lines of a file of lines."""
    import pyarrow.parquet as pq

    if path.endswith(".parquet"):
        return int(pq.read_metadata(path, filesystem=files).num_rows)
    lines = 0
    with files.open_input_stream(path) as stream:
        while chunk := stream.read(1 << 20):
            lines += bytes(chunk).count(b"\n")
    return lines


def _names(files: pa.fs.FileSystem, folder: str) -> list[str]:
    """The paths, from the folder on, of all files in it."""
    import pyarrow.fs as pa_fs

    selector = pa_fs.FileSelector(folder, allow_not_found=True, recursive=True)
    found: Any = files.get_file_info(selector)
    start = len(folder) + 1 if folder else 0
    return sorted(info.path[start:] for info in found if info.type == pa_fs.FileType.File)


def _matching(files: pa.fs.FileSystem, pattern: str) -> tuple[str, ...]:
    """The files that match a pattern, and those in folders that do."""
    parts = pattern.split("/")
    plain = next(number for number, part in enumerate(parts) if _PATTERN.search(part))
    folder = "/".join(parts[:plain])
    patterns = [re.compile(translate(part)) for part in parts[plain:]]
    found = []
    for name in _names(files, folder):
        names = name.split("/")
        named, rest = names[: len(patterns)], names[len(patterns) :]
        is_match = len(named) == len(patterns) and all(
            one.match(given) and not given.startswith(_HIDDEN)
            for one, given in zip(patterns, named, strict=True)
        )
        # Folders that a pattern names may have any names; those in them are as in others.
        if is_match and (not rest or _is_seen("/".join(rest))):
            found.append(f"{folder}/{name}" if folder else name)
    return tuple(found)


def _is_seen(name: str) -> bool:
    """True if a file is one of those that Spark reads in a folder, by its path from there on."""
    *folders, last = name.split("/")
    is_plain = not any(part.startswith(_HIDDEN) for part in (*folders, last))
    return is_plain and all("=" in folder for folder in folders)
