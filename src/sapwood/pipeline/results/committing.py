"""A result that takes the place of another in a store that renames no folders, such as S3.

::

    out/_writing/owner                  who writes here: the job that began last
    out/_writing/<job>/_3f..e1.parquet  what tasks write, hidden
    out/part-00000-<job>.parquet        what it becomes, file by file
    out/_MANIFEST                       which files belong: one write, and the new result counts
    out/_SUCCESS                        there while all that can be seen belongs

Names of jobs are new, so that no file takes the place of another. In this order:

====  ==========================================  ==============================================
step  what is done                                what a listing of the folder shows
====  ==========================================  ==============================================
1     tasks write, the driver checks the rows     the earlier result
2     `_MANIFEST` names its files; `_SUCCESS`     the earlier result, without `_SUCCESS`
      goes
3     new files get names that can be seen        the earlier result and some of the new one
4     `_MANIFEST` is written anew, of the new     both
5     the files of the earlier one are removed    the new result and some of the earlier one
6     `_SUCCESS` comes back, `_MANIFEST` goes     the new result
====  ==========================================  ==============================================

A reader that goes by `_MANIFEST` where `_SUCCESS` is missing, as `listing` does, sees the earlier
result up to step 4 and the new one from then on, and each of them whole. One that waits for
`_SUCCESS` sees no mixture either. One that does neither may for the length of steps 3 to 5 see rows
of both, but never a part of one. A job that fails up to step 4 takes its files away again. If the
driver is killed between 2 and 6 the folder stays in that state until the next job has its result
there.

Of two jobs the one that began last owns the folder: the other sees that before it makes anything
visible, and again right before step 4, and fails. Between that look and the write nothing excludes
an owner that began in between; that one has its match still to do, while the other needs one
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec

from sapwood.errors import FileFormatError
from sapwood.pipeline.results.storing import Stored
from sapwood.pipeline.spark.checks import agree
from sapwood.pipeline.spark.listing import (
    MANIFEST,
    SUCCESS,
    Listed,
    Manifest,
    at_once,
    look_into,
    rows_in,
)
from sapwood.pipeline.spark.places import Place, Store, shown, store_faults

if TYPE_CHECKING:
    import pyarrow as pa

_WRITING: Final = "_writing"
_OWNER: Final = "owner"
_NOT_TIDY: Final = (
    f"has the new result, which its {MANIFEST} names, but the earlier one cannot be removed; run "
    "the job again"
)


@dataclass(frozen=True, slots=True)
class StoreStaging:
    """The hidden folder of a `job` in the `target`, whose content its files are to become."""

    target: Store
    job: str

    @property
    def place(self) -> Place:
        """The folder in which tasks write."""
        return Place(self.target.uri, self._staged)

    def put_in_place(self, files: Sequence[Stored], schema: pa.Schema | None) -> int:
        """Make these files the content of the target; returns how many rows they have.

        A result without rows has a file with the columns of the `schema`, if it has one. Raises
        `FileFormatError` where a file is missing, another job has begun to write here, or the store
        refuses a request, and `InvariantError` if the rows are not as tasks counted.
        """
        with store_faults(self.target.uri, "cannot be written"), self._losses():
            self._check_owner()
            staged = [f"{self._staged}/{stored.file}" for stored in sorted(files)]
            if not staged and schema is not None:
                staged = [self._empty(schema)]
            found = sum(at_once(partial(rows_in, self.target.files), staged))
            agree("rows", sum(stored.rows for stored in files), found)
            earlier = look_into(self.target.files, self.target.path)
            made = [self._name(number, path) for number, path in enumerate(staged)]
            self._publish(staged, made, earlier)
        with store_faults(self.target.uri, _NOT_TIDY):
            at_once(self.target.files.delete_file, sorted(set(earlier.seen) - set(made)))
            self._write(SUCCESS, b"")
            self.target.files.delete_file(self._path(MANIFEST))
            self.target.files.delete_dir(self._path(_WRITING))
        return found

    def remove(self) -> None:
        """Remove the rest of the hidden folder, as far as the store allows."""
        try:
            owner = self._owner()
            if owner:
                # Of another job's folder only what tasks of this one have written there since.
                folder = self._path(_WRITING) if owner == self.job else self._staged
                self.target.files.delete_dir(folder)
        except OSError:
            return  # It stays hidden until the next job removes it.

    def begin(self) -> None:
        """Make the hidden folder, and take the target from any other job that writes there."""
        import pyarrow.fs as pa_fs

        files = self.target.files
        with store_faults(self.target.uri, "cannot be written"):
            at, writing = files.get_file_info([self.target.path, self._path(_WRITING)])
            if at.type == pa_fs.FileType.File:
                raise FileFormatError(
                    shown(self.target.uri), "is a file; name a folder for the result"
                )
            if writing.type != pa_fs.FileType.NotFound:
                files.delete_dir(self._path(_WRITING))
            files.create_dir(self._staged, recursive=True)
            self._write(f"{_WRITING}/{_OWNER}", self.job.encode())

    @contextmanager
    def _losses(self) -> Iterator[None]:
        """Raise `FileFormatError` if files of this job vanish, as another job makes them."""
        try:
            yield
        except FileNotFoundError:
            raise FileFormatError(
                shown(self.target.uri),
                "files that tasks have written here are not there any more; does another job "
                "write here?",
            ) from None

    def _publish(self, staged: Sequence[str], made: Sequence[str], earlier: Listed) -> None:
        """Steps 2 to 4, or none of them."""
        files = self.target.files
        try:
            self._write_manifest(earlier.belong)
            if earlier.is_settled:
                files.delete_file(self._path(SUCCESS))
            at_once(lambda pair: files.move(*pair), list(zip(staged, made, strict=True)))
            self._check_owner()
            self._write_manifest(made)
        except BaseException:
            self._take_back(made, earlier)
            raise

    def _take_back(self, made: Sequence[str], earlier: Listed) -> None:
        """Leave the earlier result as it was; its files are all there still."""
        # The manifest may be the new one: a store may have carried out an unanswered request.
        self._write_manifest(earlier.belong)
        self._delete(made)
        if earlier.is_settled:
            self._write(SUCCESS, b"")
        # In a folder where a job was cut short it has the word from then on.
        if earlier.is_settled or not earlier.has_manifest:
            self._delete([self._path(MANIFEST)])

    def _delete(self, paths: Sequence[str]) -> None:
        """Remove those files that are there."""
        import pyarrow.fs as pa_fs

        files = self.target.files
        found = files.get_file_info(list(paths))
        there = [info.path for info in found if info.type == pa_fs.FileType.File]
        at_once(files.delete_file, there)

    def _check_owner(self) -> None:
        """Refuse to go on where another job has begun to write."""
        if self._owner() != self.job:
            raise FileFormatError(
                shown(self.target.uri),
                "another job has begun to write its result here; run one at a time",
            )

    def _owner(self) -> str:
        """The job that began last; empty if its work is done."""
        try:
            with self.target.files.open_input_stream(self._path(f"{_WRITING}/{_OWNER}")) as stream:
                return bytes(stream.read()).decode()
        except FileNotFoundError:
            return ""

    def _empty(self, schema: pa.Schema) -> str:
        import pyarrow.parquet as pq

        path = f"{self._staged}/_none.parquet"
        pq.write_table(schema.empty_table(), path, filesystem=self.target.files, store_schema=False)
        return path

    def _write_manifest(self, paths: Sequence[str]) -> None:
        names = tuple(path[len(self.target.path) + 1 :] for path in paths)
        self._write(MANIFEST, msgspec.json.encode(Manifest(names)))

    def _write(self, name: str, content: bytes) -> None:
        with self.target.files.open_output_stream(self._path(name)) as stream:
            stream.write(content)

    def _name(self, number: int, staged: str) -> str:
        suffix = staged.rpartition(".")[2]
        return self._path(f"part-{number:05}-{self.job}.{suffix}")

    def _path(self, name: str) -> str:
        return f"{self.target.path}/{name}"

    @property
    def _staged(self) -> str:
        return self._path(f"{_WRITING}/{self.job}")


def begin_staging(target: Store) -> StoreStaging:
    """A hidden folder of a new job in the target. Raises `FileFormatError` where none can be."""
    staging = StoreStaging(target, uuid4().hex)
    staging.begin()
    return staging
