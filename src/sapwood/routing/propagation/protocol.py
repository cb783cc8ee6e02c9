"""What a propagation strategy is: the state of one outgoing link.

Each link has *candidates* (all subscriptions that came from elsewhere) and what was *propagated*
over it, a part of the candidates. A strategy keeps the rule that makes the part sufficient: every
candidate has a *representative* among the propagated, whose filter accepts all that the candidate
accepts. Publications that any candidate wants will therefore come back over the link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sapwood.routing.tables import W


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be said on the link: first all of `propagate`, then all of `withdraw`.

    That order leaves no gap in which a candidate has no representative at the neighbor; what is
    withdrawn can go with the last that is propagated (`Replace`).
    """

    propagate: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()


NOTHING_TO_SAY = Change()


def net_change(changes: Iterable[Change]) -> Change:
    """What several changes, one after the other, come to: nothing is said only to be taken back.

    Said at once, it leaves no gap either: what the neighbor knows in between is all that it knew
    before and all that it is to know.
    """
    propagate: dict[str, None] = {}
    withdraw: dict[str, None] = {}
    for change in changes:
        for key in change.propagate:
            if key in withdraw:
                del withdraw[key]
            else:
                propagate[key] = None
        for key in change.withdraw:
            if key in propagate:
                del propagate[key]
            else:
                withdraw[key] = None
    return Change(tuple(propagate), tuple(withdraw))


class Propagation(Protocol[W]):
    """The propagation state of one link."""

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Take in the candidates of a link that has just come up."""
        ...

    def add(self, key: str, filter: W) -> Change:
        """Take in one more candidate."""
        ...

    def remove(self, key: str) -> Change:
        """Give up a candidate."""
        ...

    def representative(self, key: str) -> str | None:
        """The propagated subscription that stands for a candidate.

        `None` where nothing needs to be propagated for the candidate to be served.
        """
        ...

    @property
    def propagated(self) -> Mapping[str, W]:
        """What the neighbor has been told and not been told to forget."""
        ...

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check the rule of the strategy against the true candidates; raises `InvariantError`."""
        ...
