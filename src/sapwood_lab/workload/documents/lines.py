"""Document workloads as lines of files, each with a home router, for the commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from sapwood.errors import InvalidValueError
from sapwood.files.lines import encode_publication, encode_subscription
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription


def subscription_lines(
    subscriptions: Iterable[Subscription], homes: Sequence[str], seed: int
) -> Iterator[bytes]:
    """The subscriptions as JSON, one a line, each at home with one of `homes`, drawn with the seed.

    Raises `InvalidValueError` if there are no homes.
    """
    drawn = _homes(homes, f"subscriptions {seed}")
    for subscription in subscriptions:
        yield encode_subscription(replace(subscription, home=next(drawn))) + b"\n"


def publication_lines(
    publications: Iterable[Publication], homes: Sequence[str], seed: int
) -> Iterator[bytes]:
    """The publications likewise."""
    drawn = _homes(homes, f"publications {seed}")
    for publication in publications:
        yield encode_publication(publication, next(drawn)) + b"\n"


def _homes(homes: Sequence[str], seed: str) -> Iterator[str]:
    if not homes:
        raise InvalidValueError("homes", "name at least one router")
    random = Random(seed)  # noqa: S311 - a workload, not a secret
    return iter(lambda: random.choice(homes), "")
