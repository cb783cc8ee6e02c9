"""TOML files of an operator: small ones, that are read as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from sapwood.errors import InputError

T = TypeVar("T")


def read_bounded_toml(path: Path, kind: type[T], bytes_max: int, what: str) -> T:
    """The content of a file of at most `bytes_max` bytes, as a Struct of a `kind`.

    `what` names its content in words. Raises `InputError` that names the file and the fault.
    """
    try:
        if path.stat().st_size > bytes_max:
            raise InputError(f"{path}: more than {bytes_max} bytes of {what}")
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no file of {what}: {error}") from error
