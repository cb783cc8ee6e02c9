"""Consumers on XNet's overlay: what its experiments begin with (set-up A of the thesis, 6.1.1).

A transit-stub overlay of 64 routers, of which 24 have consumers and one the producer. Each
generated subscription is registered at a consumer node that is drawn, with a number of instances
drawn from 0 to 100; none means that it is left out.

The workload is that of table 6.1 on a DTD that comes with Sapwood, or any of the record workloads.
Patterns that name fewer than `NAMES_MIN` elements are left out (`particular.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Final, TypeAlias

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.model.interest import Interest
from sapwood.overlay.transit_stub import TransitStub, transit_stub
from sapwood_lab.experiments.design import Choices, Configuration
from sapwood_lab.experiments.overlay import Overlay, Searches
from sapwood_lab.experiments.particular import NAMES_MIN, is_particular
from sapwood_lab.experiments.report import Cell
from sapwood_lab.workload.documents import SHIPPED, XNET, DocumentWorkload, documents
from sapwood_lab.workload.records import Workload, workload

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
WORKLOAD: Final = "news"
INSTANCES_MAX: Final = 100

Source: TypeAlias = DocumentWorkload | Workload

_FRESH: Final = 1_000_003
"""Added to a seed, gives the seed of subscriptions that are not registered."""


@dataclass(frozen=True, slots=True)
class Population:
    """An overlay on which `size` subscriptions were registered, and their source.

    #: instances[consumer, filter] > 0: the number of the consumer node's clients that registered it
    """

    size: int
    seed: int
    source: Source
    stub: TransitStub
    overlay: Overlay
    searches: Searches
    instances: Mapping[tuple[str, Interest], int]

    @property
    def inner(self) -> list[str]:
        """The routers without consumers."""
        consumers = frozenset(self.stub.consumers)
        return [router for router in self.stub.graph.routers if router not in consumers]

    def probes(self, count: int) -> list[tuple[str, Interest]]:
        """The first `count` subscriptions of another seed, each with a consumer node."""
        generator = Random(f"{self.seed}/{self.size}/probes")  # noqa: S311 - reproducible
        consumers = self.stub.consumers
        return [
            (consumers[generator.randrange(len(consumers))], interest)
            for interest in interests(self.source, count, self.seed + _FRESH)
        ]

    def registered(self, count: int) -> list[tuple[str, Interest, int]]:
        """A draw of `count` registered subscriptions: consumer node, filter, instances.

        Each comes once; where there are fewer, all come.
        """
        generator = Random(f"{self.seed}/{self.size}/registered")  # noqa: S311 - reproducible
        drawn = generator.sample(list(self.instances.items()), min(count, len(self.instances)))
        return [(consumer, interest, number) for (consumer, interest), number in drawn]


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each number of subscriptions."""
    source = choices.source or WORKLOAD
    sizes = choices.sizes or SIZES
    return [{"subscriptions": n, "workload": source, "seed": choices.seed} for n in sizes]


def settings(choices: Choices) -> Mapping[str, Cell]:
    """The settings that are the same in all configurations."""
    return {
        "workload": choices.source or WORKLOAD,
        "seed": choices.seed,
        "instances": f"0 to {INSTANCES_MAX}",
        "names": f"{NAMES_MIN} or more",
    }


def populate(configuration: Configuration) -> Population:
    """Register all subscriptions; raises `UnknownNameError` for a workload that does not exist."""
    size, seed, name = (configuration[key] for key in ("subscriptions", "seed", "workload"))
    source: Source = (
        documents(name, replace(XNET, distinct=False)) if name in SHIPPED else workload(name)
    )
    generator = Random(f"{seed}/xroute")  # noqa: S311 - reproducible on purpose
    stub = transit_stub(generator.randrange)
    searches = Searches(lambda: interest_index(COVERING_INDEXES["columnar"]))
    overlay = Overlay(stub.tree, stub.producer, searches)
    registered: dict[tuple[str, Interest], int] = {}
    for interest in interests(source, size, seed):
        home = stub.consumers[generator.randrange(len(stub.consumers))]
        instances = generator.randint(0, INSTANCES_MAX)
        if instances:
            overlay.register(home, interest, instances)
            registered[home, interest] = registered.get((home, interest), 0) + instances
    return Population(size, seed, source, stub, overlay, searches, registered)


def interests(source: Source, count: int, seed: int) -> Iterator[Interest]:
    """The first `count` filters of a stream that are for something in particular."""
    endless = (subscription.filter for subscription in source.subscriptions(sys.maxsize, seed))
    return islice((interest for interest in endless if is_particular(interest)), count)
