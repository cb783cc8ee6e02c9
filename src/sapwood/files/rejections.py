"""Rejections: bad lines go to a file of their own, or straight back to the caller.

A bad line never stops a run and never disappears. The `rejected` file is JSON Lines::

    {"file": "subs.jsonl", "line": 3, "reason": "unknown key 'hom'; ...", "text": "{...}"}

`line` counts from 1 as editors do, and `text` is the line itself, so that corrected texts can be
fed in again.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self

import msgspec

from sapwood.errors import FileFormatError
from sapwood.files.writing import STANDARD_INPUT, creating, replacing

REJECTED_SUFFIX: Final = ".rejected"
"""The suffix added to the name of the file beside which the rejected lines are put."""


def rejected_path(subscriptions: str, publications: str, out: str | None) -> str:
    """The default path of the file of rejected lines.

    Beside the deliveries if those go to a file, else beside the publications, else (those come
    from standard input) beside the subscriptions.
    """
    if out is not None and (Path(out).is_file() or not Path(out).exists()):
        return out + REJECTED_SUFFIX
    beside = subscriptions if publications == STANDARD_INPUT else publications
    return beside + REJECTED_SUFFIX


class Rejections(Protocol):
    """Takes the lines that could not be used."""

    def reject(self, path: str, line: int, reason: str, text: str) -> None:
        """Take line number `line` of `path`, which could not be used for this reason."""


class StrictRejections:
    """Turns the first bad line into a `FileFormatError`."""

    __slots__ = ()

    def reject(self, path: str, line: int, reason: str, text: str) -> None:  # noqa: ARG002
        """Raise `FileFormatError` with the place and the reason."""
        raise FileFormatError(path, reason, line)


class KeptRejections(Rejections, Protocol):
    """Takes lines that cannot be read again once the results of the others are committed."""

    def keep(self) -> None:
        """Return when all that was taken is on stable storage."""


class RejectedLog:
    """Appends bad lines to the file `path`, which is there as soon as there is one.

    For work that goes on where it stopped; used as a context manager. `count` is the number of
    rejected lines, and `first` names the first one with its reason.
    """

    __slots__ = ("_out", "count", "first", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self.first: str | None = None
        self._out: BinaryIO | None = None

    def reject(self, path: str, line: int, reason: str, text: str) -> None:
        """Write one line. Raises `FileFormatError` if the file cannot be made."""
        row = {"file": path, "line": line, "reason": reason, "text": text}
        try:
            if self._out is None:
                self._out = open(self.path, "ab")  # noqa: SIM115 - closed by `__exit__`
            self._out.write(msgspec.json.encode(row) + b"\n")
        except OSError as error:
            raise FileFormatError(self.path, f"cannot be written: {error.strerror}") from None
        self.count += 1
        if self.first is None:
            self.first = f"{path}, line {line}: {reason}"

    def keep(self) -> None:
        """Return when all that was taken is on stable storage."""
        if self._out is not None:
            self._out.flush()
            os.fsync(self._out.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._out is not None:
            self._out.close()


class RejectedFile:
    """Writes bad lines to the file `path`, used as a context manager; any thread may reject.

    `count` is the number of rejected lines, `first` names the first one with its reason. The file
    is there after a run if, and only if, something was rejected in that run: a leftover from an
    earlier run is replaced or removed. A run that fails leaves the file as it was.

    A `new` file takes the place of none: where `path` is taken, it is `path.2`, `path.3`, ..., and
    `path` names that file once something was rejected. It stays when the run fails. So it is for
    lines of standard input, which cannot be read again, and whose file has a default name.

    #: _out, count and first change under _lock
    """

    __slots__ = ("_lock", "_new", "_out", "_stack", "count", "first", "path")

    def __init__(self, path: str, *, new: bool = False) -> None:
        self.path = path
        self.count = 0
        self.first: str | None = None
        self._new = new
        self._lock = Lock()
        self._stack = ExitStack()
        self._out: BinaryIO | None = None

    def reject(self, path: str, line: int, reason: str, text: str) -> None:
        """Write one line. Raises `FileFormatError` if the file cannot be made."""
        row = {"file": path, "line": line, "reason": reason, "text": text}
        with self._lock:
            if self._out is None:
                self._out = self._opened()
            self._out.write(msgspec.json.encode(row) + b"\n")
            self.count += 1
            if self.first is None:
                self.first = f"{path}, line {line}: {reason}"

    def _opened(self) -> BinaryIO:
        if not self._new:
            return self._stack.enter_context(replacing(self.path))
        out, self.path = creating(self.path)
        return self._stack.enter_context(out)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
        if kind is None and self.count == 0 and not self._new:
            Path(self.path).unlink(missing_ok=True)
