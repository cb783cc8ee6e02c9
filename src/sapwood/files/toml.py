"""Reading TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sapwood.errors import FileFormatError, InputError
from sapwood.files.reading import opened

T = TypeVar("T")


def read_toml(path: str, decode: Callable[[Mapping[str, Any]], T]) -> T:
    """What the file `path` holds (`-` is standard input), as `decode` reads the document.

    All that is wrong with it becomes a `FileFormatError`.
    """
    try:
        with opened(path) as stream:
            return decode(tomllib.load(stream))
    except (InputError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(path, str(error)) from error
