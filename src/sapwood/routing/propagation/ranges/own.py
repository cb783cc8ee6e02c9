"""The clients' subscriptions of a router on a circle: how far they travel, and what they rely on.

A subscription *f* at router X is sent to all routers, unless a subscription that they know stands
for it. Let Z, in X's slot of m digits, have *g*, which covers *f*. A router that shares fewer than
m - 1 digits with X has X and Z in one slot, and has *g* there, or a subscription that stands for
it; so *f* goes only to the slots of m digits and more around X: it has the *reach* m (IRBR, 004,
L185-196). If X has *g* itself, *f* goes nowhere: its reach is one more than there are digits.

The work leaves concurrency open (L280). Here, this holds at any time, as long as links do: *for
every subscription in force each router has, in the slot of its home, one that covers it*.

* It is sent to the shortest slots first and to the longest last, and to the next level only when
  all in one level have answered. So a router that has received *g* from Z is nearer to Z than all
  that must have *g* before a subscription may rely on it: relying on a received one is safe.
* It is cancelled in the other order. A subscription that relied on it finds another, or is itself
  sent as far as needed, before the cancel is answered; and only then is the cancel sent farther. So
  the subscriptions that a cancel uncovers (L199-211) are in place before their cover goes. In the
  work the cancelling router sends the ones that it knows to be uncovered, in the same message: that
  loses those that it does not know yet.
* No subscription relies on one that relies on it: only on one that accepts strictly more, or the
  same under a lesser key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest


class Candidate(NamedTuple):
    """A subscription that others may rely on, and the number of digits of its slot.

    The level of subscriptions of clients of the same router is one more than there are digits.
    """

    key: str
    filter: Interest
    level: int


class Telling(Protocol):
    """Sends subscriptions to other routers; implemented where the routers around are known."""

    @property
    def digits(self) -> int:
        """The number of digits of an identifier."""
        ...

    def levels(self) -> list[int]:
        """The lengths of the slots with a router in them, ascending."""
        ...

    def tell(self, own: Own, level: int) -> None:
        """Send a subscription to all in slots of `level` digits; `answered` follows."""
        ...

    def cancel(self, own: Own, level: int) -> None:
        """Send its cancel to all in these slots; `OwnSubscriptions.answered` follows."""
        ...

    def in_force(self, key: str) -> None:
        """Report that every router has the subscription, or one that stands for it."""
        ...


@dataclass(slots=True, eq=False)
class Own:
    """A client's subscription, or a withdrawn one that others have yet to forget.

    #: todo are the levels still to be sent to, in order; lowest is the lowest level sent to
    #: all levels from reach on have it, if it is settled
    #: relies_on is the key of its cover below its reach; "" where no level is below
    """

    key: str
    filter: Interest
    reach: int
    lowest: int
    relies_on: str = ""
    is_leaving: bool = False
    is_cancelled: bool = False
    is_busy: bool = False
    is_settled: bool = False
    is_confirmed: bool = False
    todo: list[int] = field(default_factory=list)
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def call(self) -> None:
        """Call the callbacks that wait for it: it is settled, or never will be."""
        waiting, self.waiting = self.waiting, []
        for then in waiting:
            then()


def stands_for(candidate: Candidate, own: Own) -> bool:
    """True if a subscription may rely on a candidate: see the module."""
    key, wanted, _ = candidate
    if key == own.key or type(wanted) is not type(own.filter) or not wanted.covers(own.filter):
        return False
    return key < own.key or not own.filter.covers(wanted)


class OwnSubscriptions:
    """The subscriptions of one router's clients, and how far each was sent.

    `others` returns the subscriptions received from others, the longest slots first.
    """

    __slots__ = ("_others", "_telling", "records")

    def __init__(self, telling: Telling, others: Callable[[], Iterator[Candidate]]) -> None:
        self._telling = telling
        self._others = others
        self.records: dict[str, Own] = {}

    @property
    def unsettled(self) -> int:
        """The number of subscriptions not yet sent, or cancelled, as far as they have to be."""
        return sum(not own.is_settled for own in self.records.values())

    def add(self, key: str, filter: Interest) -> None:
        """Add a client's subscription, and send it as far as no other stands for it."""
        nowhere = self._telling.digits + 1
        own = self.records[key] = Own(key, filter, nowhere, nowhere)
        self._extend(own)

    def withdraw(self, key: str) -> None:
        """Withdraw a client's subscription, after those that rely on it have settled."""
        own = self.records[key]
        own.is_leaving, own.is_settled = True, False
        own.todo.clear()
        relying = self.uncover(key)  # before the waiting callbacks learn that it is withdrawn
        own.call()

        def uncovered() -> None:
            own.is_cancelled = True
            self._step(own)

        self.when_settled(relying, uncovered)

    def uncover(self, key: str) -> list[Own]:
        """Let the subscriptions that relied on a key extend their reach; returns them."""
        relying = [one for one in self.records.values() if one.relies_on == key]
        found = [one for one in relying if not one.is_leaving]
        for own in found:
            self._extend(own)
        return found

    def when_settled(self, some: Iterable[Own], then: Callable[[], None]) -> None:
        """Call `then` once all of some subscriptions are settled."""
        left = [own for own in some if not own.is_settled and not own.is_leaving]
        count = len(left)
        if not left:
            then()

        def settled() -> None:
            nonlocal count
            count -= 1
            if not count:
                then()

        for own in left:
            own.waiting.append(settled)

    def answered(self, own: Own) -> None:
        """Continue with a subscription after all in a level have answered."""
        own.is_busy = False
        self._step(own)

    def validate(self) -> None:
        """Check the relations between the fields; raises `InvariantError`."""
        for key, own in self.records.items():
            if own.is_settled and (own.todo or own.is_busy or own.is_leaving or own.waiting):
                raise InvariantError(f"{key} is settled, and something is to be done for it")
            if own.is_settled and not own.relies_on and own.reach > 1:
                raise InvariantError(f"nobody stands for {key}, and it is not told everywhere")
            beside = self.records.get(own.relies_on)
            if own.is_settled and beside is not None and beside.is_leaving:
                raise InvariantError(f"{key} relies on {beside.key}, which is going")

    def _extend(self, own: Own) -> None:
        """Find a cover of a subscription, and have it sent as far as needed now."""
        found = next((one for one in self._candidates() if stands_for(one, own)), None)
        own.relies_on, reach = ("", 1) if found is None else (found.key, found.level)
        if reach < own.reach:
            own.reach, own.is_settled = reach, False
            own.todo = [level for level in self._telling.levels() if level >= reach]
        self._step(own)

    def _candidates(self) -> Iterator[Candidate]:
        """All candidates that a subscription may rely on: those that shorten its way most first."""
        beside = self._telling.digits + 1
        for own in self.records.values():
            if not own.is_leaving:
                yield Candidate(own.key, own.filter, beside)
        yield from self._others()

    def _step(self, own: Own) -> None:
        """Do the next step for a subscription, unless one is under way."""
        if own.is_busy or self.records.get(own.key) is not own:
            return
        if own.is_leaving:
            self._leave(own)
        elif own.todo:
            level = own.todo.pop(0)
            own.is_busy, own.lowest = True, min(own.lowest, level)
            self._telling.tell(own, level)
        else:
            self._settle(own)

    def _leave(self, own: Own) -> None:
        if not own.is_cancelled:
            return  # the subscriptions that rely on it are not settled
        if own.lowest <= self._telling.digits and not own.todo:
            own.todo = [level for level in self._telling.levels() if level >= own.lowest]
            own.lowest = self._telling.digits + 1
        if not own.todo:
            del self.records[own.key]
            return
        own.is_busy = True
        self._telling.cancel(own, own.todo.pop())

    def _settle(self, own: Own) -> None:
        beside = self.records.get(own.relies_on)
        if beside is not None and not beside.is_settled and not beside.is_leaving:
            beside.waiting.append(lambda: self._step(own))
            return
        own.is_settled = True
        if not own.is_confirmed:
            own.is_confirmed = True
            self._telling.in_force(own.key)
        own.call()
