"""Journals in folders of their own, as a broker would have written them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sapwood.model.publication import Publication
from sapwood.routing.inputs import ClientPublish
from sapwood.store.layout import Commit, encode_commit
from sapwood.store.log import Log
from sapwood.store.records import entry_of


def write_journal(
    folder: Path,
    publications: Iterable[Publication],
    *,
    at: float = 0.0,
    home: str = "r1",
    segment_bytes_max: int = 1 << 24,
    kept: int | None = None,
) -> int:
    """Add publications to the journal in a folder, a commit each; its first offset.

    Of `kept` segments, if so many are given, the others go.
    """
    log = Log(folder, home, segment_bytes_max=segment_bytes_max)
    for publication in publications:
        data = encode_commit(
            log.number, log.place, 1, [entry_of(ClientPublish("c", publication), at)]
        )
        log.append(data, Commit(log.number, log.place, 1, 0, len(data), b""))
    while kept is not None and len(log.segments) > kept:
        log.remove(log.segments[0])
    log.sync()
    first = log.first
    log.close()
    return first
