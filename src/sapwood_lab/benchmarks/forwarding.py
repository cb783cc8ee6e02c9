"""The cost of one hop of forwarding, by strategy: matching anew, or reading a digest.

`python -m sapwood_lab.benchmarks.forwarding --sizes 100000 --links 4 --matches 5,50` makes two
routers by hand for each protocol. The first one has a link, behind which all subscriptions are; the
one at its other end has them spread over that number of links further on. Publications enter at the
first and are routed there in batches, and then at the other, with the digests that the first has
written. Printed is one line of JSON for each protocol: microseconds of processor time for a
publication, the least of some rounds, without the wire; at the other router, for each that came
there. `hops` is the number of routers like that on the way from which it costs less in all than
matching at every router, `null` for never.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from random import Random
from typing import Any, Final

from sapwood.language import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.matching.readiness import RECORDS
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import NO_DIGEST, Forwarding, Routed
from sapwood.routing.protocols import protocol
from sapwood.sketches.kernels.choice import SKETCHES

PROTOCOLS: Final = ("identity", "identity+bloom", "simple+reuse:partial:20", "simple+reuse:always")
EVERY_HOP: Final = PROTOCOLS[0]
PUBLICATIONS: Final = 2_000
BATCH: Final = 256
ROUNDS: Final = 5
AHEAD, BACK = "ahead", "back"
RANGE: Final = 1_000_000
"""Values of `a`, of which a filter takes half on the mean."""


def workload(
    size: int, links: int, matches: int, seed: int
) -> tuple[Mapping[str, Sequence[tuple[str, Filter]]], list[Publication]]:
    """Filters by link, and publications, each accepted by `matches` of them on the mean."""
    generator = Random(seed)  # noqa: S311 - reproducible on purpose
    kinds = max(1, size // (2 * matches))

    def kind() -> str:
        return f"x{generator.randrange(kinds)}"

    entries: dict[str, list[tuple[str, Filter]]] = {f"n{link}": [] for link in range(links)}
    for number in range(size):
        wanted = parse_filter(f"s = '{kind()}' and a > {generator.randrange(RANGE)}")
        entries[f"n{number % links}"].append((f"k{number}", wanted))
    publications = [
        Publication(f"p{n}", {"s": kind(), "a": generator.randrange(RANGE)})
        for n in range(PUBLICATIONS)
    ]
    return entries, publications


def routed(
    forwarding: Forwarding,
    publications: Sequence[Publication],
    arrival: str | None,
    digests: Sequence[bytes],
) -> Iterator[tuple[int, Routed]]:
    """The routes of publications, batch by batch, with the place of the first one of each."""
    first = 0
    while first < len(publications):
        last = first + BATCH
        found = forwarding.route(publications[first:last], arrival, digests[first:last], 0.0)
        yield first, found
        first += len(found.keys)


def each_us(
    forwarding: Forwarding,
    publications: Sequence[Publication],
    arrival: str | None,
    digests: Sequence[bytes],
) -> float:
    """Microseconds of processor time for a publication, the least of some rounds."""
    least = inf
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in routed(forwarding, publications, arrival, digests):
            pass
        least = min(least, time.process_time() - began)
    return 1e6 * least / len(publications)


def made(name: str, entries: Mapping[str, Sequence[tuple[str, Filter]]]) -> Forwarding:
    """The forwarding of a router that knows these subscriptions, by link."""
    chosen = protocol(name)
    forwarding = chosen.forwarding.make("r", Engines(), chosen.propagation)
    for neighbor, some in entries.items():
        forwarding.add_side(neighbor)
        forwarding.learned_many(neighbor, some)
    return forwarding


def measure(name: str, size: int, links: int, matches: int, seed: int = 1) -> dict[str, Any]:
    """The cost of routing under one protocol, where publications enter and further on."""
    entries, publications = workload(size, links, matches, seed)
    every = [one for some in entries.values() for one in some]
    first = made(name, {AHEAD: every})
    nothing = [NO_DIGEST] * len(publications)
    going: dict[int, bytes] = {}
    for begin, found in routed(first, publications, None, nothing):
        for onward in found.onward:
            places = [begin + place for place in onward.places]
            going.update(zip(places, onward.digests, strict=True))
    further, digests = [publications[place] for place in going], [*going.values()]
    other = made(name, {BACK: (), **entries})
    return {
        "protocol": name,
        "subscriptions": size,
        "links": links,
        "matches": matches,
        "first_us": round(each_us(first, publications, None, nothing), 2),
        "further_us": round(each_us(other, further, BACK, digests), 2),
        "digest_bytes": round(sum(map(len, digests)) / max(1, len(digests)), 1),
    }


def compared(size: int, links: int, matches: int, seed: int = 1) -> list[dict[str, Any]]:
    """All protocols on one workload, and from how many hops on each pays."""
    rows = [measure(name, size, links, matches, seed) for name in PROTOCOLS]
    every = rows[0]
    for row in rows[1:]:
        lost = row["first_us"] - every["first_us"]
        saved = every["further_us"] - row["further_us"]
        row["hops"] = max(1, -int(-lost // saved)) if saved > 0 else None
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each protocol costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000", help="numbers of subscriptions, with commas")
    parser.add_argument("--links", default="4", help="numbers of links, with commas")
    parser.add_argument("--matches", default="5,50", help="matches of a publication, with commas")
    given = parser.parse_args(arguments)
    RECORDS.load()
    SKETCHES.load()
    for size in map(int, given.sizes.split(",")):
        for links in map(int, given.links.split(",")):
            for matches in map(int, given.matches.split(",")):
                for row in compared(size, links, matches):
                    sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
