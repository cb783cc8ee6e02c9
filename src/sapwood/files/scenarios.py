"""Scenarios from files: those that `sapwood simulate` runs, for use from Python.

::

    files = open_scenario("tree:31:2", "subscriptions.jsonl", "publications.jsonl",
                          faults="faults.toml", seed=7, rejections=StrictRejections())
    evaluation = evaluate(files.scenario(), protocol("covering"))     # sapwood.simulation
    files.subscriptions.counts.good
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from sapwood.errors import FileFormatError, InputError
from sapwood.files.lines import AdvertisementLine, PublicationLine
from sapwood.files.reading import (
    Reading,
    opened,
    read_advertisements,
    read_publications,
    read_subscriptions,
)
from sapwood.files.rejections import Rejections
from sapwood.model.subscription import Subscription
from sapwood.overlay.document import decode_topology
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Overlay
from sapwood.simulation.conditions import PERFECT, Conditions
from sapwood.simulation.fault_words import with_faults
from sapwood.simulation.faults import decode_faults
from sapwood.simulation.scenario import Action, Scenario, subscribe_then_publish

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScenarioFiles:
    """The files of a scenario, open to be read once; their counts grow meanwhile.

    Without `advertisements`, no client advertises. `faults` is `None` where no faults are given.
    """

    topology: Overlay
    subscriptions: Reading[Subscription]
    publications: Reading[PublicationLine]
    advertisements: Reading[AdvertisementLine] | None
    faults: tuple[tuple[float, Action], ...] | None
    seed: int
    conditions: Conditions = PERFECT

    def scenario(
        self,
        name: str = "simulate",
        *,
        advertise_everything: bool = False,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Scenario:
        """The whole scenario: `read`, and the scenario of the lines read."""
        lines = self.read(advance)
        return lines.scenario(name, advertise_everything=advertise_everything)

    def read(self, advance: Callable[[int], None] = lambda _: None) -> ScenarioLines:
        """Read the files; `advance` is called for each good line."""
        return ScenarioLines(
            self.topology,
            tuple(_counted(self.subscriptions, advance)),
            tuple(_counted(self.publications, advance)),
            tuple(_counted(self.advertisements or (), advance)),
            self.faults or (),
            self.seed,
            self.conditions,
        )


@dataclass(frozen=True, slots=True)
class ScenarioLines:
    """The good lines of a scenario's files."""

    topology: Overlay
    subscriptions: Sequence[Subscription]
    publications: Sequence[PublicationLine]
    advertisements: Sequence[AdvertisementLine]
    faults: Sequence[tuple[float, Action]]
    seed: int
    conditions: Conditions = PERFECT

    def scenario(self, name: str = "simulate", *, advertise_everything: bool = False) -> Scenario:
        """Everything that is to happen; see `subscribe_then_publish`.

        Homes that a line does not name are drawn with the seed. With `advertise_everything` each
        publisher does so, whatever the file of advertisements has. Conditions hold from the
        beginning, faults count from the first publication.
        """
        scenario = subscribe_then_publish(
            name,
            self.topology,
            self.subscriptions,
            ((line.publication, line.home) for line in self.publications),
            advertisements=None
            if advertise_everything
            else ((one.id, one.filter, one.home) for one in self.advertisements),
            faults=self.faults,
            seed=self.seed,
        )
        return self.conditions.of(scenario)


def open_scenario(
    topology: str,
    subscriptions: str,
    publications: str,
    *,
    advertisements: str | None = None,
    faults: str | None = None,
    fault_words: Sequence[str] = (),
    seed: int = 0,
    conditions: Conditions = PERFECT,
    rejections: Rejections,
) -> ScenarioFiles:
    """The files of a scenario, by their paths; of all, one may be `-`, for standard input.

    `topology` is as for `read_topology`. Lines whose home the topology does not have are among the
    rejected ones; a topology or faults that cannot be read are a `FileFormatError`. Beside a file
    of faults, or without one, there are `fault_words` (`sapwood.simulation.fault_words`).
    """
    overlay = read_topology(topology, seed)
    known = overlay.known
    return ScenarioFiles(
        overlay,
        read_subscriptions(subscriptions, rejections, known),
        read_publications(publications, rejections, known),
        None if advertisements is None else read_advertisements(advertisements, rejections, known),
        read_faults(faults, overlay, seed, fault_words) if faults or fault_words else None,
        seed,
        conditions,
    )


def read_topology(text: str, seed: int) -> Overlay:
    """The topology that a name (`tree:31:2`) or a TOML file describes; `seed` for random ones."""
    if text.endswith(".toml") or Path(text).is_file():
        return read_toml(text, decode_topology)
    return parse_topology(text, Random(f"{seed}/topology").randrange)  # noqa: S311 - reproducible


def read_faults(
    path: str | None, topology: Overlay, seed: int, words: Sequence[str] = ()
) -> tuple[tuple[float, Action], ...]:
    """The faults in a TOML file, and of words, in the order of time.

    Routers that come and go are among them.
    """

    def decode(document: Mapping[str, Any]) -> list[tuple[float, Action]]:
        return decode_faults(with_faults(document, words), topology, seed)

    return tuple(decode({}) if path is None else read_toml(path, decode))


def _counted(values: Iterable[T], advance: Callable[[int], None]) -> Iterator[T]:
    """The values, each reported as it passes."""
    for value in values:
        advance(1)
        yield value


def read_toml(path: str, decode: Callable[[Mapping[str, Any]], T]) -> T:
    """The TOML file `path` (`-` is standard input), as `decode` reads the document.

    All that is wrong with it becomes a `FileFormatError`.
    """
    try:
        with opened(path) as stream:
            return decode(tomllib.load(stream))
    except (InputError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(path, str(error)) from error
