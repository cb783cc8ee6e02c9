"""The package as an archive, for executors that do not have it installed.

Unpacked on every executor (`--archives sapwood.zip#sapwood-package`) and named in their PYTHONPATH,
the package runs from plain files, beside which compiled kernels can be kept. Its dependencies must
be in the executors' Python.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sapwood.errors import FileFormatError, InvariantError

PACKAGE: Final = "sapwood"
UNPACKED_NAME: Final = "sapwood-package"
"""The name of the archive where it is unpacked."""


def pack_packages(target: Path, packages: Sequence[str] = (PACKAGE,)) -> Path:
    """Write the archive; raises `FileFormatError` where it cannot be written."""
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for package in packages:
                root = _folder(package)
                for path in sorted(root.rglob("*")):
                    if path.is_file() and "__pycache__" not in path.parts:
                        archive.write(path, path.relative_to(root.parent))
    except OSError as error:
        raise FileFormatError(str(target), f"cannot be written: {error.strerror}") from None
    return target


def submit_options(archive: str) -> tuple[str, ...]:
    """The options of spark-submit with which executors use the archive."""
    return (
        *("--archives", f"{archive}#{UNPACKED_NAME}"),
        *("--conf", f"spark.executorEnv.PYTHONPATH={UNPACKED_NAME}"),
    )


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InvariantError(f"{package} is no package of plain files")
    return Path(spec.origin).parent
