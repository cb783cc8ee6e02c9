"""What an upkeep strategy is: the answer to links that come and go, and to time."""

from __future__ import annotations

from enum import Enum, auto
from typing import Protocol


class Action(Enum):
    """What the router is to do about a link."""

    REPLAY = auto()
    """Tell the neighbor all that it should know."""
    FORGET = auto()
    """Drop what came over the link and withdraw it elsewhere."""


class Upkeep(Protocol):
    """Decides, for one router, how its state follows its links."""

    def link_up(self, neighbor: str, now: float) -> tuple[Action, ...]:
        """What to do for a link that carries messages from now on."""
        ...

    def link_down(self, neighbor: str, now: float) -> tuple[Action, ...]:
        """What to do for a link that is gone."""
        ...

    def next_deadline(self) -> float | None:
        """When the strategy wants to be asked again without any input; `None` for never."""
        ...
