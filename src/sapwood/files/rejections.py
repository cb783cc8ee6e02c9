"""Where bad lines go: a file of their own, or straight back to the caller.

A bad line never stops a run and never disappears. The `rejected` file is JSON Lines::

    {"file": "subs.jsonl", "line": 3, "reason": "unknown key 'hom'; ...", "text": "{...}"}

`line` counts from 1 as editors do, and `text` is the line itself, so that corrected texts can be
fed in again.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self

import msgspec

from sapwood.errors import FileFormatError
from sapwood.files.writing import STANDARD_INPUT, replacing

REJECTED_SUFFIX: Final = ".rejected"
"""What is added to the name of the file that the rejected lines are put beside."""


def rejected_path(subscriptions: str, publications: str, out: str | None) -> str:
    """Where lines go that cannot be used, unless told otherwise.

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


class RejectedFile:
    """Writes bad lines to the file `path`, used as a context manager.

    `count` says how many. The file is there after a run if, and only if, something was rejected
    in that run: a leftover from an earlier run is replaced or removed. A run that fails leaves
    the file as it was.
    """

    __slots__ = ("_out", "_stack", "count", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._stack = ExitStack()
        self._out: BinaryIO | None = None

    def reject(self, path: str, line: int, reason: str, text: str) -> None:
        """Write one line. Raises `FileFormatError` if the file cannot be made."""
        if self._out is None:
            self._out = self._stack.enter_context(replacing(self.path))
        row = {"file": path, "line": line, "reason": reason, "text": text}
        self._out.write(msgspec.json.encode(row) + b"\n")
        self.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)
        if kind is None and self.count == 0:
            Path(self.path).unlink(missing_ok=True)
