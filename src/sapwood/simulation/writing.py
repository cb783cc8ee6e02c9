"""The writing of routers' stores: the records of one input at once, then the effects that wait.

While a store writes, it gathers for the next time. A router may be doomed to crash while it writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sapwood.routing.effects import Effect, Persist, Recall, Send, SendMany
from sapwood.routing.inputs import Input
from sapwood.simulation.network import Network, Written
from sapwood.simulation.stored import Held, Stored, Tail, Unit, unit_of


@dataclass(slots=True)
class Doom:
    """A router is to crash while it writes: after `steps` steps, of which the writing is one.

    The others are the effects that wait for it, one by one; of this input or of later ones.
    """

    steps: int
    tail: Tail


class Writing:
    """The present writing of all stores of a world.

    `carry_out` lets an effect happen that waited since a time, `kept` is called with each written
    unit, `crash` stops a router, and `feed` hands an input to one.

    #: _gathered has what is not written yet, of routers that run
    """

    def __init__(  # noqa: PLR0917 - what it stands between
        self,
        stored: Stored,
        network: Network,
        carry_out: Callable[[str, Effect, float], None],
        kept: Callable[[str, Unit], None],
        crash: Callable[[str, Tail], None],
        feed: Callable[[str, Input], None],
    ) -> None:
        self._stored = stored
        self._network = network
        self._carry_out_rest = carry_out
        self._feed = feed
        self._kept = kept
        self._crash = crash
        self._gathered: dict[str, deque[Unit]] = {}
        self._doomed: dict[str, Doom] = {}

    @property
    def is_idle(self) -> bool:
        """True if nothing waits to be written."""
        return not self._gathered

    def doom(self, router: str, doom: Doom) -> None:
        """Let a router crash while it writes."""
        self._doomed[router] = doom

    def spare(self, router: str) -> None:
        """Let it go on."""
        self._doomed.pop(router, None)

    def perform(self, router: str, effects: Sequence[Effect]) -> None:
        """Carry out the effects of an input; those behind unwritten records wait for the store."""
        gathered = self._gathered.get(router)
        first = next((at for at, one in enumerate(effects) if isinstance(one, Persist)), None)
        at_once, rest = effects[:first], effects[len(effects) if first is None else first :]
        if gathered:
            gathered[-1].waiting.extend(self._held(router, at_once))
        else:
            for effect in at_once:
                self._carry_out(router, effect, self._network.now)
        if not rest:
            return
        unit = unit_of(rest, self._held(router, rest))
        if gathered:
            gathered.append(unit)
            return
        self._gathered[router] = deque((unit,))
        if self._network.writes_at_once:
            self._write(router, 1)
        else:
            self._network.write(router, 1)

    def written(self, written: Written) -> None:
        """Note that a store has written, and let it begin with the units gathered meanwhile."""
        router = written.router
        if self._network.is_written(written):
            if written.recalled is not None:
                self._feed(router, written.recalled)
                return
            self._write(router, written.count)
            if router in self._gathered:
                self._network.write(router, len(self._gathered[router]))

    def leave_tail(self, router: str, tail: Tail) -> None:
        """Let a crash leave its tail of the unwritten inputs: whole ones, and a torn piece."""
        gathered = list(self._gathered.pop(router, ()))
        kept = {Tail.TORN: len(gathered) // 2, Tail.WHOLE: len(gathered)}.get(tail, 0)
        for unit in gathered[:kept]:
            self._keep(router, unit)
        if kept < len(gathered) and tail is Tail.TORN:
            self._stored.tear(router)

    def forget(self, router: str) -> None:
        """Drop the unwritten inputs of a router that has stopped."""
        self._gathered.pop(router, None)

    def _write(self, router: str, count: int) -> None:
        """Let the first inputs of those that were gathered be written, and what waits for them go.

        A router that is doomed crashes at its step.
        """
        gathered = self._gathered[router]
        doom = self._doomed.get(router)
        for _ in range(count):
            if self._ends(router, doom):
                return
            unit = gathered.popleft()
            self._keep(router, unit)
            for held in unit.waiting:
                if self._ends(router, doom):
                    return
                self._let_out(router, held)
        if not gathered:
            del self._gathered[router]

    def _carry_out(self, router: str, effect: Effect, since: float) -> None:
        """Carry out an effect; a `Recall` reads the state written by then."""
        if isinstance(effect, Recall):
            self._network.read(router, self._stored.recalled(router, effect))
        else:
            self._carry_out_rest(router, effect, since)

    def _ends(self, router: str, doom: Doom | None) -> bool:
        """True if a router crashes before its next step."""
        if doom is None:
            return False
        doom.steps -= 1
        if doom.steps >= 0:
            return False
        del self._doomed[router]
        self._crash(router, doom.tail)
        return True

    def _keep(self, router: str, unit: Unit) -> None:
        self._stored.keep(router, unit)
        self._kept(router, unit)

    def _held(self, router: str, effects: Sequence[Effect]) -> list[Held]:
        """Effects that have to wait."""
        now = self._network.now
        return [
            Held(one, now, self._network.session(router, one.neighbor))
            if isinstance(one, Send | SendMany)
            else Held(one, now)
            for one in effects
        ]

    def _let_out(self, router: str, held: Held) -> None:
        """Carry out an effect that waited; messages for a link that has gone are dropped."""
        effect = held.effect
        if isinstance(effect, Send | SendMany):
            session = self._network.session(router, effect.neighbor)
            if session is None or session != held.session:
                return
        self._carry_out(router, effect, held.since)
