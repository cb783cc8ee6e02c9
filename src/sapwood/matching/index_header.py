"""The header of a saved index: the engines that wrote it, and its version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sapwood.errors import FileFormatError
from sapwood.matching.documents.engines import DocumentEngineInfo
from sapwood.matching.engines import EngineInfo
from sapwood.matching.storage import REMEDY, Folder

_FORMAT: Final = "sapwood index"
_VERSION: Final = 4
HEADER: Final = "index"
"""The name of the header among the files of an index."""


def write_header(
    folder: Folder, records: EngineInfo, documents: DocumentEngineInfo, subscriptions: int
) -> None:
    """Write the header of an index with these engines; all other files have been written."""
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "records": records.saved_as or records.name,
        "documents": documents.saved_as or documents.name,
        "chosen": {"records": records.name, "documents": documents.name},
    }
    folder.seal(HEADER, {**header, "subscriptions": subscriptions})


def chosen_engine(
    header: Mapping[str, Any],
    kind: str,
    known: Mapping[str, EngineInfo] | Mapping[str, DocumentEngineInfo],
) -> str:
    """The engine that the saved index had if it reads those files, else the one that wrote them."""
    wrote = str(header[kind])
    chosen = header.get("chosen")
    info = known.get(str(chosen.get(kind))) if isinstance(chosen, dict) else None
    return info.name if info is not None and info.saved_as == wrote else wrote


def read_header(folder: Folder) -> dict[str, Any]:
    """The header; raises `FileFormatError` for a folder without one, or of another format."""
    path = folder.place(f"{HEADER}.json")
    if not folder.exists:
        raise FileFormatError(str(folder), "is no folder; an index is a folder that save made")
    if not folder.has_json(HEADER):
        raise FileFormatError(str(folder), f"is no index: it has no {HEADER}.json; {REMEDY}")
    header = folder.read_json(HEADER)
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise FileFormatError(path, f"does not describe an index; {REMEDY}")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(path, f"has no version but {version!r}; {REMEDY}")
    if version != _VERSION:
        remedy = "use a newer one" if version > _VERSION else REMEDY
        raise FileFormatError(
            path, f"has version {version}, this program reads {_VERSION}; {remedy}"
        )
    folder.check_seal(HEADER)
    if not (
        isinstance(header.get("records"), str)
        and isinstance(header.get("documents"), str)
        and isinstance(header.get("subscriptions"), int)
    ):
        raise FileFormatError(path, f"does not say its engines and its size; {REMEDY}")
    return header
