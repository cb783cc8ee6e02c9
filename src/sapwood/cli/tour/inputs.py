"""The tour's input files: what anyone could have written, in the documented formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sapwood.cli.output import Advance
from sapwood.cli.tour.flights import are_installed, flights, interests
from sapwood.cli.tour.invented import invented
from sapwood.files import encode_publication, encode_subscription, replacing
from sapwood.model.subscription import Subscription


@dataclass(frozen=True, slots=True)
class TourInputs:
    """The input files and their content; `are_real` if the flights took place."""

    subscriptions_file: Path
    publications_file: Path
    subscriptions: tuple[Subscription, ...]
    publications: int
    are_real: bool


def write_inputs(folder: Path, limit: int | None, advance: Advance) -> TourInputs:
    """Write the interests and the flights as JSON Lines into `folder`.

    Each line names its home: the airport of departure for a flight, the airport of the desk for an
    interest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    subscriptions = tuple(interests())
    subscriptions_file = folder / "subscriptions.jsonl"
    with replacing(str(subscriptions_file)) as out:
        out.writelines(encode_subscription(subscription) + b"\n" for subscription in subscriptions)
    publications_file = folder / "publications.jsonl"
    count, are_real = 0, are_installed()
    with replacing(str(publications_file)) as out:
        for publication in flights(limit) if are_real else invented(limit):
            home = str(publication.record["origin"])
            out.write(encode_publication(publication, home) + b"\n")
            count += 1
            advance(1)
    return TourInputs(subscriptions_file, publications_file, subscriptions, count, are_real)
