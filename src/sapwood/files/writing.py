"""Writing results: whole files or none, and deliveries one pair a line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from sapwood.errors import FileFormatError

STANDARD_INPUT: Final = "-"
STANDARD_OUTPUT: Final = "-"
"""The name of standard input or output in the place of a file's."""


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when the block ends without an error.

    Until then `path` stays as it was, so that no reader ever sees half a result. A device or a pipe
    cannot be replaced and is written to directly. Raises `FileFormatError` if the file cannot be
    made.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileFormatError(path, "is a folder; name a file in it")
    if target.exists() and not target.is_file():
        with _opened(target, path) as out:
            yield out
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    out = _opened(partial, path)
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def creating(path: str) -> tuple[BinaryIO, str]:
    """A file to write that was not there before, and its name: `path`, or `path.2`, `path.3`, ...

    Raises `FileFormatError` if it cannot be made.
    """
    for number in count(1):
        name = path if number == 1 else f"{path}.{number}"
        try:
            return Path(name).open("xb"), name
        except FileExistsError:
            continue
        except OSError as error:
            raise FileFormatError(name, f"cannot be written: {error.strerror}") from error
    raise AssertionError("numbers do not end")


class DeliveryWriter:
    """Writes deliveries as JSON Lines: one line per pair of publication and subscription.

    `count` is the number of pairs written.
    """

    __slots__ = ("_out", "_tails", "count")

    def __init__(self, out: BinaryIO) -> None:
        self.count = 0
        self._out = out
        #: Subscription id to the second half of its line. Depends on nothing but the id; holds
        #: no more entries than there are subscriptions.
        self._tails: dict[str, bytes] = {}

    def write(self, publication: str, subscriptions: Iterable[str]) -> None:
        """Write that `publication` goes to each of `subscriptions`, in the order given."""
        head = b'{"publication":' + msgspec.json.encode(publication) + b',"subscription":'
        parts: list[bytes] = []
        for id_ in subscriptions:
            tail = self._tails.get(id_)
            if tail is None:
                tail = self._tails[id_] = msgspec.json.encode(id_) + b"}\n"
            parts += (head, tail)
            self.count += 1
        self._out.write(b"".join(parts))


def _opened(target: Path, path: str) -> BinaryIO:
    """`target` opened for writing; `path` is the caller's name of it."""
    try:
        return target.open("wb")
    except FileNotFoundError:
        raise FileFormatError(path, f"there is no folder {str(target.parent)!r}") from None
    except OSError as error:
        raise FileFormatError(path, f"cannot be written: {error.strerror}") from error
