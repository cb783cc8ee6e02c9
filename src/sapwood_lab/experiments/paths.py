"""Documents as publications of the XPE dissemination work: one for each root-to-leaf path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sapwood.model.publication import Publication
from sapwood.xml import Document
from sapwood.xml.dtd import Dtd, read_dtd
from sapwood_lab.workload.documents import shipped_dtd


def dtd_named(source: str) -> Dtd:
    """A DTD that comes with Sapwood, or the one in a file whose name ends in `.dtd`.

    Raises `UnknownNameError` for another name, `OSError` for a file that cannot be read.
    """
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
