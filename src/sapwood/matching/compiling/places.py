"""The folders in which compiled code is kept, and the locks that make others wait for it.

Compiled code is read from the first folder that has it, and written to the first one that can be
written:

1. the folder that `SAPWOOD_CACHE_DIR` names, or else `NUMBA_CACHE_DIR`; if one is named, nothing is
   written elsewhere;
2. the package's own folder, which an image may contain filled and read only;
3. the user's cache folder (`XDG_CACHE_HOME`, or `~/.cache`).

The process that compiles holds a lock of the system's on a file beside it; the lock ends with the
process, so no lock is ever stale.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import sapwood
from sapwood.cache_folder import user_cache

VARIABLES: Final = ("SAPWOOD_CACHE_DIR", "NUMBA_CACHE_DIR")
"""The variables that name the folder to keep compiled code in; the first one that is set counts."""

_FOLDER: Final = "kernels"


def given_place(environ: Mapping[str, str] | None = None) -> tuple[str, Path] | None:
    """The variable that names a folder, and that folder."""
    environ = os.environ if environ is None else environ
    for variable in VARIABLES:
        if environ.get(variable):
            return variable, Path(environ[variable]).absolute()
    return None


def places() -> tuple[Path, ...]:
    """All folders in which compiled code may be, in order of preference."""
    given, package = given_place(), _package_place()
    if given is not None:
        return given[1], package
    try:
        return package, user_cache() / _FOLDER
    except RuntimeError:  # a user without a home
        return (package,)


def writable_place() -> Path | None:
    """The folder to keep compiled code in, created if need be; `None` if none can be written."""
    for place in places()[:1] if given_place() else places():
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    return None


def found(name: str) -> Path | None:
    """The file of that name, in the first place that has it."""
    for place in places():
        file = place / name
        # A folder that may not be entered is one without the file.
        with suppress(OSError):
            if file.is_file():
                return file
    return None


def is_kept(name: str) -> bool:
    """True if a place has code of a set, perhaps of another version, which numba would find out."""
    for place in places():
        with suppress(OSError):
            if any(file.startswith(f"{name}-") for file in os.listdir(place)):
                return True
    return False


@contextmanager
def claimed(place: Path, name: str) -> Iterator[None]:
    """Wait until no other process makes that file, and make others wait.

    On a file system without locks every process goes on, and the file of the last one is kept.
    """
    with (place / f".{name}.lock").open("ab") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _package_place() -> Path:
    return Path(sapwood.__file__).absolute().parent / "__pycache__" / _FOLDER
