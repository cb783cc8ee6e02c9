"""Synopses in files: written whole or not at all, checked when they are read."""

from __future__ import annotations

from pathlib import Path

from sapwood.errors import FileFormatError, InputError
from sapwood.files.writing import replacing
from sapwood.similarity.layout import of_bytes, to_bytes
from sapwood.similarity.synopsis import Synopsis


def save_synopsis(path: str, synopsis: Synopsis) -> None:
    """Write a synopsis to a file, in place of its earlier content."""
    with replacing(path) as out:
        out.write(to_bytes(synopsis))


def load_synopsis(path: str) -> Synopsis:
    """The synopsis in a file; raises `FileFormatError` where there is none, or a damaged one."""
    try:
        return of_bytes(Path(path).read_bytes())
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror}") from error
    except InputError as error:
        raise FileFormatError(path, str(error)) from None
