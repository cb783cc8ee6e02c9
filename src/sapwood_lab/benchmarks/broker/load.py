"""The load of a cell: subscriptions of clients, a pool of publications, and who must get which.

Publications are numbered, and number n has the content of the pool at n modulo its size, so that
what must be delivered is worked out once for each content: by brute force over columns (records)
and by lxml (documents), which share nothing with any broker.

A record has two attributes more than its workload draws: `tick`, its place in the pool modulo
`TICKS`, and `pad`, a text that makes it `PUBLICATION_BYTES` long where it is shorter. The first
client subscribes to `tick = 0` besides: however little the workload delivers, there is something to
measure delays by. Where there is one subscription only, it accepts every publication.

Beside these there are subscriptions of the same workload that come and go (`Passing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import EnvironmentMissingError
from sapwood.language import parse_filter
from sapwood.language.written import canonical
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.wire.publications import encode_record
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.export import conditions
from sapwood_lab.benchmarks.records.scan import ColumnScan
from sapwood_lab.benchmarks.records.sources import source_named
from sapwood_lab.workload.documents import documents
from sapwood_lab.workload.documents.bodies import DocumentShape
from sapwood_lab.workload.documents.patterns import PatternShape

PUBLICATION_BYTES: Final = 512
"""A record as it travels in Sapwood; those of `flights` and `mix` fit, too."""

PASSING: Final = 2048
"""Different filters of the subscriptions that come and go."""

TICKS: Final = 8
POOL: Final = 512
"""Different records that are published, over and over."""

DOCUMENTS_POOL: Final = 32
DOCUMENT_TAGS: Final = 400
DOCUMENT_BYTES: Final = range(3_600, 4_600)
"""Of what is drawn (1.6 KB on average), those documents are published that have about 4 KB."""

_DRAWN: Final = 2_000
"""Documents that are drawn: one of twenty has about 4 KB."""

DOCUMENTS: Final = "documents"
"""The name of the workload of documents."""

NUMBER_DIGITS: Final = 9
"""Of a publication's number, so that each encoded publication is as long as the next one."""

Numbers = npt.NDArray[np.int64]


class Passing(NamedTuple):
    """Filters of subscriptions that come and go, and which of them accept each content of the pool.

    Subscription `n` of those has the filter `n` modulo their number.
    """

    interests: Sequence[Interest]
    matches: npt.NDArray[np.bool_]  # [interests, pool]


@dataclass(frozen=True, slots=True)
class Load:
    """Subscriptions 0, 1, ... of clients, a pool of publications, and their matches.

    #: len(offsets) == len(pool) + 1; the matches of pool[i] are
    #: matches[offsets[i]:offsets[i + 1]], ascending
    """

    workload: str
    clients: int
    #: of all: those of the workload, and the tick's
    interests: Sequence[Interest]
    #: subscription -> its client
    owners: Numbers
    pool: Sequence[Mapping[str, Any] | bytes]
    offsets: Numbers
    matches: Numbers
    passing: Passing

    @property
    def holds_documents(self) -> bool:
        """True if documents are published, and not records."""
        return self.workload == DOCUMENTS

    @property
    def size(self) -> int:
        """The number of the workload's subscriptions, without the tick's."""
        return max(1, len(self.interests) - 1)

    def deliveries(self, *, each_subscription: bool = False) -> Numbers:
        """The number of deliveries for each content of the pool: one a client that gets it.

        Where a delivery is for one subscription, one for `each_subscription` that matches.
        """
        if each_subscription:
            counts: Numbers = np.diff(self.offsets)
            return counts
        found = [
            len(np.unique(self.owners[self.matches[first:last]]))
            for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)
        ]
        return np.array(found, np.int64)

    def matches_each(self) -> float:
        """The mean number of subscriptions that match a publication."""
        return len(self.matches) / len(self.pool)

    def write(self, folder: Path, *, each_subscription: bool = False) -> None:
        """Write the files that the drivers of all systems read.

        `subscriptions.jsonl`: `number`, `client`, and `filter` with `any` (as `bench records
        --export` has them) or `xpath`; `passing.jsonl` likewise. `publications.jsonl`:
        `attributes` or `document`, and how many `deliveries` it leads to.
        """
        with (folder / "subscriptions.jsonl").open("wb") as lines:
            for number, interest in enumerate(self.interests):
                said = self._said(interest)
                line = {"number": number, "client": int(self.owners[number]), **said}
                lines.write(msgspec.json.encode(line) + b"\n")
        with (folder / "passing.jsonl").open("wb") as lines:
            for number, interest in enumerate(self.passing.interests):
                line = {"number": number, "client": 0, **self._said(interest)}
                lines.write(msgspec.json.encode(line) + b"\n")
        counts = self.deliveries(each_subscription=each_subscription).tolist()
        with (folder / "publications.jsonl").open("wb") as lines:
            for content, count in zip(self.pool, counts, strict=True):
                key = "document" if isinstance(content, bytes) else "attributes"
                text = content.decode() if isinstance(content, bytes) else content
                lines.write(msgspec.json.encode({key: text, "deliveries": count}) + b"\n")

    def _said(self, interest: Interest) -> dict[str, Any]:
        text = canonical(interest).text
        if self.holds_documents:
            return {"xpath": text}
        return {"filter": text, "any": conditions(interest)}  # type: ignore[arg-type]


def make_load(workload: str, size: int, clients: int, data: Path | None = None) -> Load:
    """The load of `size` subscriptions, dealt out to the clients in turn.

    Raises `EnvironmentMissingError` where the real records of a workload are not there.
    """
    if workload == DOCUMENTS:
        return _documents_load(size, clients)
    source = source_named(workload, data)
    pool = [
        _padded(publication.record, place % TICKS)
        for place, publication in enumerate(source.publications(POOL, SEED))
    ]
    wanted = [parse_filter("tick >= 0")]
    if size > 1:
        wanted = [one.record_filter for one in source.subscriptions(size, SEED)]
        wanted.append(parse_filter("tick = 0"))
    scan = ColumnScan(wanted)
    found = [scan.match(record) for record in pool]
    coming = [one.record_filter for one in source.subscriptions(PASSING, SEED + 1)]
    scan = ColumnScan(coming)
    passing = _passing(coming, [scan.match(record) for record in pool])
    return _load(workload, clients, wanted, pool, found, passing)


def _padded(record: Mapping[str, Any], tick: int) -> dict[str, Any]:
    content = {**record, "tick": tick}
    bare = len(encode_record("p" * (1 + NUMBER_DIGITS), {**content, "pad": ""}))
    short = PUBLICATION_BYTES - bare
    # A longer text has a longer header: one byte more from 32 on, two from 256 on.
    header = 2 if short > 257 else 1 if short > 32 else 0
    return {**content, "pad": "x" * max(0, short - header)}


def _documents_load(size: int, clients: int) -> Load:
    source = documents(
        "news", PatternShape(distinct=False, value=0.3), DocumentShape(tags=DOCUMENT_TAGS)
    )
    drawn = (one.document or b"" for one in source.publications(_DRAWN, SEED))
    pool = list(islice((one for one in drawn if len(one) in DOCUMENT_BYTES), DOCUMENTS_POOL))
    if size == 1:
        wanted: list[Interest] = [parse_xpath("/*")]
    else:
        wanted = [one.filter for one in source.subscriptions(size, SEED)]
        wanted.append(parse_xpath("/*"))
    coming = [one.filter for one in source.subscriptions(PASSING, SEED + 1)]
    passing = _passing(coming, list(_lxml_matches(coming, pool)))
    return _load(DOCUMENTS, clients, wanted, pool, list(_lxml_matches(wanted, pool)), passing)


def _lxml_matches(wanted: Sequence[Interest], pool: Sequence[bytes]) -> Iterator[Numbers]:
    """The subscriptions that accept each document, as lxml reads their XPaths."""
    try:
        from lxml import etree
    except ImportError as error:
        raise EnvironmentMissingError(
            "deliveries of documents are judged by lxml: install it"
        ) from error
    texts: dict[str, list[int]] = {}
    for number, interest in enumerate(wanted):
        texts.setdefault(canonical(interest)[1], []).append(number)
    compiled = [(etree.XPath(f"boolean({text})"), numbers) for text, numbers in texts.items()]
    for document in pool:
        tree = etree.fromstring(document)
        found = [number for xpath, numbers in compiled if xpath(tree) for number in numbers]
        yield np.array(sorted(found), np.int64)


def _passing(interests: Sequence[Interest], found: Sequence[Numbers]) -> Passing:
    matches = np.zeros((len(interests), len(found)), np.bool_)
    for place, numbers in enumerate(found):
        matches[numbers, place] = True
    return Passing(interests, matches)


def _load(  # noqa: PLR0917 - the parts of a load
    workload: str,
    clients: int,
    wanted: Sequence[Interest],
    pool: Sequence[Mapping[str, Any] | bytes],
    found: Sequence[Numbers],
    passing: Passing,
) -> Load:
    owners = np.arange(len(wanted), dtype=np.int64) % clients
    if len(wanted) > 1:
        owners[-1] = 0
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in found]))).astype(np.int64)
    matches = np.concatenate([*found, np.zeros(0, np.int64)]).astype(np.int64)
    return Load(workload, clients, wanted, owners, pool, offsets, matches, passing)
