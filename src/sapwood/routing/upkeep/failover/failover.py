"""Crash/Failover (XNet 6.1.3): a router that has lost its upstream for long attaches to a backup.

Below the threshold another upkeep is in charge, which this one stands in front of: `replay` forgets
a link that is down and begins afresh when it is up again. A router whose upstream, R, has been
silent for longer than the failure detector is patient

1. gives R up (`Disconnect`), so that R, should it come back, comes back without it;
2. requests a link to a backup (`Connect`): those that it was given, in order; then the one that R
   has announced, which is R's own upstream, or for want of one the *heir*, one of those below R
   that has no backups, to which the others go and which goes nowhere; then the planned upstream, if
   that is another;
3. sends the backup all that it would send to a neighbor that comes: of the subscriptions of its
   routers and clients those that no other covers, the tops, and no more.

Under `replay` R's upstream has nothing to do: it forgot the entries of the link when that went
down, as if R had withdrawn them. Under an upkeep that keeps them while a link is down (`recover`),
each router gives up any neighbor, not its upstream alone, whose link has been down for longer than
it is patient, and is done with its entries then. So a router that was suspected wrongly is left by
one neighbor and does the same: state is right afterwards, for more messages. Publications that were
on the way to R, or came while the way was cut, are lost as they are when a link fails under
`replay`.

The old way has to be withdrawn before the new one is told: a router that receives entries on the
new way before would take the two ways for a circle. So the backup is requested at once only where R
was left by others when this router lost it, that is under `replay` where the link is down. Where
the link is still up, it is requested after the same patience once more; likewise where the link is
down under `recover`, since R's neighbors give it up only now; and where both is so, after twice the
patience. For that reason patience has to be longer than messages take through the overlay.

A router that starts, and is not linked to its planned upstream, has the same patience and does the
same.

A backup that does not answer within the same patience is given up for the next one. When all have
been tried, R is: then the router waits, however long it takes, for R or another router to link to
it. A backup whose link would close a circle is not linked by the shell, and counts as one that does
not answer.

The upstream end of a link was planned (`plans.py`), or is the one that was dialed; a router that
knows neither, having started again elsewhere than planned, takes for its upstream the neighbor that
does not announce to be below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from sapwood.errors import InvariantError
from sapwood.routing.effects import Connect, Disconnect, Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
    Suspicion,
)
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.upkeep.detector.detector import Detector
from sapwood.routing.upkeep.failover.notes import Standing, note_of, standing_in
from sapwood.routing.upkeep.failover.plans import Plan
from sapwood.routing.upkeep.protocol import Action, Keeping, Kept, Upkeep

_NOBODY: Final = ""
"""The name sought while the entries of this router are withdrawn on its old way."""


SOUGHT: Final = "sought"
"""The table that has the backup which is sought."""


class Failover:
    """The upstream of one router, and the backups that take its place.

    #: _links are up, in the order in which they came up
    #: _upstream is the one that is linked, or the last that was, or is planned; or empty
    #: _said are the last notes of neighbors, gone ones included while they may be needed
    #: _seeking is the backup requested in place of the upstream, and those still to be tried;
    #: `None` while the upstream is linked or waited for
    #: the detector watches the upstream while it is not linked, and the backup that is sought; and
    #: other neighbors whose link is down, as long as the inner upkeep keeps their entries
    """

    def __init__(self, router: Kept, plan: Plan, detector: Detector, inner: Upkeep) -> None:
        self._router = router
        self._plan = plan
        self._detector = detector
        self._inner = inner
        self._links: dict[str, None] = {}
        self._upstream = plan.upstream
        self._said: dict[str, Standing] = {}
        self._told: dict[str, Standing] = {}
        self._seeking: tuple[str, list[tuple[str, str]]] | None = None
        #: a requested link, by the name it was requested under, and the router that answered
        self._asked: dict[str, str] = {}
        #: the time of the last tick, or of the first input; `None` before any
        self._now: float | None = None

    @property
    def is_passive(self) -> bool:
        """False: it has messages of its own."""
        return False

    @property
    def takes_batches(self) -> bool:
        """The value of the inner upkeep."""
        return self._inner.takes_batches

    @property
    def inner(self) -> Upkeep:
        """The upkeep in charge below the threshold."""
        return self._inner

    # Links -------------------------------------------------------------------------------------

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        """Take in a neighbor: the upstream again, a backup, or one below."""
        neighbor = link.neighbor
        self._see(now)
        self._links[neighbor] = None
        self._detector.forget(neighbor)
        sought = "" if self._seeking is None else self._seeking[0]
        if neighbor in (self._upstream, self._plan.upstream, sought) or link.dialed:
            self._attach(neighbor)
        return [*self._tell(), *self._inner.link_up(link, now)]

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Take in that a link is gone; if it led to the upstream, patience begins."""
        return self._lost(link, self._inner.link_down, now)

    def closed(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Take in that routing has closed a link: it is gone as well."""
        return self._lost(link, self._inner.closed, now)

    def _lost(
        self, link: LinkDown, tell: Callable[[LinkDown, float], Iterable[Action]], now: float
    ) -> Iterable[Action]:
        neighbor = link.neighbor
        self._see(now)
        if neighbor not in self._links:  # it was down, or given up
            return tell(link, now) if link.for_good and not self._inner.is_passive else ()
        del self._links[neighbor]
        self._told.pop(neighbor, None)
        if neighbor == self._upstream:
            self._detector.watch(neighbor, now)
        else:
            self._said.pop(neighbor, None)
            if not self._inner.is_passive and not link.for_good:
                self._detector.watch(neighbor, now)
        return [*tell(link, now), *self._tell()]

    def suspect(self, suspicion: Suspicion, now: float) -> Sequence[Action]:
        """Take in a suspicion from outside, whatever signs of life the neighbor gives.

        A neighbor whose link is down is suspected soon anyway, and not sooner for that.
        """
        if suspicion.neighbor != self._upstream or self._upstream not in self._links:
            return ()
        self._detector.watch(self._upstream, now)
        self._detector.mislead(self._upstream, now + suspicion.seconds)
        return self.tick(now)

    # Choice of the upstream --------------------------------------------------------------------

    def tick(self, now: float) -> Sequence[Action]:
        """Give up a suspected upstream or backup, and go on to the next one."""
        self._see(now)
        self._now = now
        actions: list[Action] = [*self._inner.tick(now)]
        for suspected in self._detector.suspected(now):
            if self._seeking is not None and suspected == self._seeking[0]:
                actions.extend(self._go_on(now))
            elif suspected == self._upstream:
                actions.extend(self._leave(now))
            else:
                self._detector.forget(suspected)
                actions.extend(self._give_up(suspected, now))
        return actions

    def _give_up(self, neighbor: str, now: float) -> Sequence[Action]:
        """Give up a neighbor whose link is down, where the inner upkeep keeps its entries."""
        if self._inner.is_passive or neighbor in self._links:
            return ()
        given_up = LinkDown(neighbor, for_good=True)
        return [*self._inner.link_down(given_up, now), Disconnect(neighbor)]

    def _see(self, now: float) -> None:
        """Begin the patience with the planned upstream at the first input."""
        if self._now is None:
            self._now = now
            if self._upstream:
                self._detector.watch(self._upstream, now)

    def _attach(self, neighbor: str) -> None:
        """Make a neighbor the upstream."""
        sought = "" if self._seeking is None else self._seeking[0]
        for watched in (self._upstream, sought, neighbor):
            self._detector.forget(watched)
        if neighbor != self._upstream and self._upstream:
            self._said.pop(self._upstream, None)
        self._upstream, self._seeking = neighbor, None

    def _candidates(self) -> list[tuple[str, str]]:
        """The backups to try without the upstream, by name and address."""
        found = list(self._plan.backups)
        said = self._said.get(self._upstream)
        if said is not None:
            found.append((said.upstream, said.upstream_address))
            if not said.upstream:
                found.append((said.heir, said.heir_address))
        found.append((self._plan.upstream, ""))
        own = (self._router.name, self._upstream, "", *self._links)
        return [one for one in dict.fromkeys(found) if one[0] not in own]

    def _leave(self, now: float) -> Sequence[Action]:
        """Leave the suspected upstream for the first backup, if there is any."""
        candidates = self._candidates()
        upstream = self._upstream
        self._detector.forget(upstream)
        was_linked = upstream in self._links
        again = upstream, self._address_of(upstream)
        if not candidates:
            given_up = self._give_up(upstream, now)
            is_due = bool(given_up) or (upstream == self._plan.upstream and not was_linked)
            return [*given_up, Connect(*again)] if is_due else ()
        pauses = was_linked + (not self._inner.is_passive)
        self._seeking = (_NOBODY, [*[(_NOBODY, "")] * pauses, *candidates, again])
        if not was_linked:
            left = self._give_up(upstream, now) or [Disconnect(upstream)]
            return [*left, *self._go_on(now)]
        del self._links[upstream]
        self._told.pop(upstream, None)
        done = self._inner.link_down(LinkDown(upstream, for_good=True), now)
        return [*done, Disconnect(upstream), *self._go_on(now)]

    def _go_on(self, now: float) -> Sequence[Action]:
        """Seek the next backup; the last of them is waited for without end."""
        assert self._seeking is not None, "something is sought"
        sought, rest = self._seeking
        actions: list[Action] = []
        self._detector.forget(sought)
        if sought != _NOBODY and sought not in self._links:
            actions += self._give_up(sought, now) or [Disconnect(sought)]
        (name, address), *rest = rest
        self._seeking = (name, rest)
        if rest:
            self._detector.watch(name, now)
            if name == _NOBODY or name in self._links:  # below: as one that does not answer
                return actions
        return [*actions, Connect(name, address)]

    def _address_of(self, neighbor: str) -> str:
        """The address of a neighbor, as it has announced itself, or as planned; or empty."""
        said = self._said.get(neighbor)
        if said is not None and said.address:
            return said.address
        return dict(self._plan.backups).get(neighbor, "")

    # Notes of neighbors ------------------------------------------------------------------------

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """Take in notes about failover; other messages go to the inner upkeep."""
        if isinstance(received, ReceiveMany):
            return self._inner.arrived(received, now)
        message = received.message
        said = standing_in(message) if isinstance(message, UpkeepNote) else None
        if said is None:
            return self._inner.arrived(received, now)
        neighbor = received.neighbor
        if neighbor not in self._links:
            return ()
        self._said[neighbor] = said
        is_attached = self._upstream in self._links
        if said.is_below and neighbor == self._upstream and neighbor < self._router.name:
            self._upstream = self._plan.upstream  # each took the other for its upstream
            if self._upstream and self._upstream not in self._links:
                self._detector.watch(self._upstream, now)
        elif not said.is_below and not is_attached and self._plan.upstream:
            self._attach(neighbor)
        return self._tell()

    def _tell(self) -> list[Action]:
        """Send this router's standing to the neighbors that do not have it.

        That the link to the upstream is down is not sent: a stopping router may lose that one
        first.
        """
        below = sorted(n for n in self._links if n in self._said and self._said[n].is_below)
        upstream = self._upstream
        heir = next((n for n in below if not self._said[n].has_backups), "")
        actions: list[Action] = []
        for neighbor in self._links:
            standing = Standing(
                is_below=neighbor == self._upstream,
                has_backups=bool(self._plan.backups),
                address=self._plan.address,
                upstream=upstream if neighbor != upstream else "",
                upstream_address=self._address_of(upstream) if neighbor != upstream else "",
                heir=heir,
                heir_address=self._address_of(heir),
            )
            if self._told.get(neighbor) != standing:
                self._told[neighbor] = standing
                actions.append(Send(neighbor, note_of(standing)))
        return actions

    # Passed to the inner upkeep ----------------------------------------------------------------

    def asked(self, request: Change | ClientPublishMany, now: float) -> Iterable[Action]:
        """Pass a request to the inner upkeep."""
        return self._inner.asked(request, now)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        """Pass a sent message to the inner upkeep."""
        return self._inner.sent(send, now)

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        """Restore the inner upkeep: neighbors send their standing when their links are up.

        Patience begins with those that the inner upkeep kept entries of.
        """
        yield from self._inner.restored(restored, now)
        self._see(now)
        if isinstance(self._inner, Keeping):
            for neighbor in self._inner.neighbors():
                self._detector.watch(neighbor, now)

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        """Pass recalled publications to the inner upkeep."""
        return self._inner.recalled(recalled, now)

    def next_deadline(self) -> float | None:
        """The end of patience, or the inner deadline; at once before the first patience.

        Patience that has ended since the last tick is due, whatever came meanwhile.
        """
        if self._now is None:
            return 0.0 if self._upstream else self._inner.next_deadline()
        deadlines = (self._detector.next_deadline(self._now), self._inner.next_deadline())
        return min((one for one in deadlines if one is not None), default=None)

    def table_sizes(self) -> dict[str, int]:
        """The tables of the inner upkeep, and `sought`: 1 while a backup is sought."""
        return {**self._inner.table_sizes(), SOUGHT: int(self._seeking is not None)}

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        self._inner.validate()
        self._detector.validate()
        if self._told.keys() - self._links.keys():
            raise InvariantError("somebody was told how things stand over a link that is down")
        if self._seeking is not None and self._upstream in self._links:
            raise InvariantError("a backup is sought although the upstream is linked")
