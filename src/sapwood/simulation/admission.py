"""Admission: publications must be accepted and refused as clients' advertisements demand.

From the history alone: a client that has advertised may publish whatever one of its advertisements
in force accepts; where the protocol routes by advertisements no client may publish anything else.
Between the request for an advertisement and the answer to it, both answers are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum, auto

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication
from sapwood.simulation.history import ClientName, Epoch, History, Moment, Published


class Answer(IntEnum):
    """The right answer to a client's publication; the smaller, the stricter."""

    REFUSE = auto()
    EITHER = auto()
    ACCEPT = auto()


@dataclass(frozen=True, slots=True)
class Admission:
    """Publications, by their ids, that were answered wrongly.

    `admitted` were accepted and had to be refused; with `rebuffed` it is the other way round.
    """

    admitted: tuple[str, ...]
    rebuffed: tuple[str, ...]


def judge_admission(
    history: History, accepts: Callable[[AdvertisedContent, Publication], bool], *, advertised: bool
) -> Admission:
    """Judge every answer; `advertised`: the protocol routes by advertisements."""
    lives: dict[ClientName, list[Epoch[AdvertisedContent]]] = {}
    for name, epochs in history.advertisements.items():
        lives.setdefault(name.owner, []).extend(epochs)
    admitted: list[str] = []
    rebuffed: list[str] = []
    for id_, published in history.publications.items():
        answer = right_answer(published, lives.get(published.publisher, ()), accepts, advertised)
        if published.accepted is not None and answer is Answer.REFUSE:
            admitted.append(id_)
        if published.refused is not None and answer is Answer.ACCEPT:
            rebuffed.append(id_)
    return Admission(tuple(admitted), tuple(rebuffed))


def right_answer(
    published: Published,
    lives: Iterable[Epoch[AdvertisedContent]],
    accepts: Callable[[AdvertisedContent, Publication], bool],
    advertised: bool,  # noqa: FBT001 - the protocol's word
) -> Answer:
    """The right answer to a publication, given all lives of its publisher's advertisements.

    One with a record and a document needs an advertisement for each; the stricter answer counts.
    """
    lives = list(lives)
    return min(
        _answer_to_part(published.asked, part, lives, accepts, advertised)
        for part in published.publication.parts()
    )


def _answer_to_part(
    asked: Moment,
    part: Publication,
    lives: Iterable[Epoch[AdvertisedContent]],
    accepts: Callable[[AdvertisedContent, Publication], bool],
    advertised: bool,  # noqa: FBT001 - the protocol's word
) -> Answer:
    present = [
        life for life in lives if life.asked < asked and (life.left is None or life.left > asked)
    ]
    held = [life for life in present if life.leaving is None or life.leaving > asked]
    for life in held:
        is_in_force = life.confirmed is not None and life.confirmed < asked
        if is_in_force and accepts(life.filter, part):
            return Answer.ACCEPT
    if any(accepts(life.filter, part) for life in present):
        return Answer.EITHER
    if held or advertised:
        return Answer.REFUSE
    return Answer.EITHER if present else Answer.ACCEPT
