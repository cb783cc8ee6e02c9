"""Documents as publications of the XPE dissemination work: one for each root-to-leaf path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sapwood.errors import InputError
from sapwood.model.publication import Publication
from sapwood.xml import Document
from sapwood.xml.dtd import Dtd, read_dtd
from sapwood_lab.workload.documents import shipped_dtd

NITF: Final = "nitf"
"""The DTD that the works used most; it is not shipped."""
_NITF_FILE: Final = Path("nitf", "nitf-2-5.dtd")
_DATA: Final = "SAPWOOD_DATA"


def nitf_missing() -> str | None:
    """The reason why the DTD of NITF cannot be used here; `None` where it can."""
    if _DATA not in os.environ:
        return f"{_DATA} names no folder with {_NITF_FILE}"
    file = Path(os.environ[_DATA], _NITF_FILE)
    return None if file.is_file() else f"there is no {file}"


def with_nitf(names: tuple[str, ...]) -> tuple[str, ...]:
    """DTDs by name, and NITF's behind them where it is there."""
    return names if nitf_missing() else (*names, NITF)


def dtd_named(source: str) -> Dtd:
    """A DTD that comes with Sapwood, NITF's, or the one in a file whose name ends in `.dtd`.

    Raises `UnknownNameError` for another name, `InputError` where NITF's is missing, `OSError` for
    a file that cannot be read.
    """
    if source == NITF:
        missing = nitf_missing()
        if missing is not None:
            raise InputError(f"the DTD nitf is not shipped, and {missing}")
        return read_dtd(Path(os.environ[_DATA], _NITF_FILE).read_bytes(), root=NITF)
    if source.lower().endswith(".dtd"):
        return read_dtd(Path(source).read_bytes())
    return shipped_dtd(source)


def path_publications(publications: Iterator[Publication]) -> Iterator[Publication]:
    """Each distinct root-to-leaf path of each document, as a document of its own."""
    for publication in publications:
        document = publication.read_document()
        assert document is not None, "a document workload makes documents"
        for number, path in enumerate(root_to_leaf(document)):
            opened = "".join(f"<{name}>" for name in path)
            closed = "".join(f"</{name}>" for name in reversed(path))
            yield Publication(f"{publication.id}.{number}", document=(opened + closed).encode())


def root_to_leaf(document: Document) -> Sequence[tuple[str, ...]]:
    """The names on the way to each element without children, each way once."""
    above: list[tuple[str, ...]] = []
    for name, parent in zip(document.names, document.parents, strict=True):
        above.append((*above[parent], name) if parent >= 0 else (name,))
    leaves = sorted(set(range(len(document))).difference(document.parents))
    return tuple(dict.fromkeys(above[leaf] for leaf in leaves))
