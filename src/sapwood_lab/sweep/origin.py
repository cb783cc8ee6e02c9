"""The code that figures come from: rows kept by other code are not taken for those of this code.

An experiment has parameters that are no part of its configurations, and measures what the whole
package does. So what is kept names the version of `sapwood` and a hash of the sources that are
installed: of `sapwood`, of `sapwood_lab`, and of the experiment's own module where it is another's.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import sapwood

PACKAGES: Final = ("sapwood", "sapwood_lab")


def code_of(experiment: str) -> str:
    """The version of the code behind `module:function`, as in `0.1.0 5f2c0a91d4e87b36`.

    Sources that are not there as files (but in an archive) have no part in it.
    """
    return f"{sapwood.__version__} {_hash_of(experiment.partition(':')[0])}"


@cache
def _hash_of(module: str) -> str:
    found = blake2b(digest_size=8)
    for name in PACKAGES:
        folder = _file_of(name).parent
        for path in sorted(folder.rglob("*.py")):
            _take(found, f"{name}/{path.relative_to(folder).as_posix()}", path)
    if module.partition(".")[0] not in PACKAGES:
        _take(found, module, _file_of(module))
    return found.hexdigest()


def _take(found: blake2b, name: str, path: Path) -> None:
    if path.is_file():
        data = path.read_bytes()
        found.update(f"{name} {len(data)} ".encode())
        found.update(data)


def _file_of(module: str) -> Path:
    """The file of a module; one that does not exist where it has none."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        spec = None
    return Path(spec.origin if spec is not None and spec.origin else f"/nowhere/{module}")
