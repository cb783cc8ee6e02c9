"""What becomes of a client's subscription on a circle: how far it is told, and who stands for it.

A subscription *f* at router X is told to all routers, unless somebody whom they know stands for it.
Let Z, in X's slot of m digits, want *g*, which covers *f*. Who shares fewer than m - 1 digits with
X has X and Z in one slot, and knows of *g* there, or of what stands for it; so *f* goes only to the
slots of m digits and more around X: it has the *reach* m (IRBR, 004, L185-196). If X has *g*
itself, *f* goes nowhere: its reach is one more than there are digits.

The work says nothing of what happens at once (L280). Here, this holds at any time, as long as links
do: *for every subscription in force each router has, in the slot of its home, one that covers it*.

* It is told from the shortest slots to the longest, and only when all in one level have answered,
  the next one hears of it. So who hears of *g* from Z is nearer to it than all who have to have it
  for what is to rely on it: relying on what one has heard of is safe.
* It is cancelled in the other order. Who relied on it looks for another, or is told itself as far
  as is needed, before it answers; and only then are those asked who are farther away. So what a
  cancel uncovers (L199-211) is there before what covered it goes. The work has the one who cancels
  tell what it knows to be uncovered, in the same message: that loses what it does not know yet.
* Nobody relies on what relies on it: only on what accepts strictly more, or the same under a lesser
  key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest


class Candidate(NamedTuple):
    """Something that is wanted, and the digits of the slot in which it is.

    What clients of the same router want has one more than there are.
    """

    key: str
    filter: Interest
    level: int


class Telling(Protocol):
    """How others are told: by whoever knows the routers around this one."""

    @property
    def digits(self) -> int:
        """Of an identifier."""
        ...

    def levels(self) -> list[int]:
        """The lengths of slots in which anybody is, ascending."""
        ...

    def tell(self, own: Own, level: int) -> None:
        """Tell all in slots of so many digits of a subscription; `OwnSubscriptions.answered`."""
        ...

    def cancel(self, own: Own, level: int) -> None:
        """Tell them that it is wanted no more; `OwnSubscriptions.answered` follows."""
        ...

    def in_force(self, key: str) -> None:
        """Every router knows of it, or of what stands for it."""
        ...


@dataclass(slots=True, eq=False)
class Own:
    """A client's subscription, or one that others have yet to forget.

    #: todo are levels, in the order in which they are to hear of it; lowest has heard of it
    #: all levels from reach on know it, if it is settled
    #: relies_on is the key of what stands for it below its reach; "" where nobody is below
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
        """Tell those who wait for it that it is settled, or never will be."""
        waiting, self.waiting = self.waiting, []
        for then in waiting:
            then()


def stands_for(candidate: Candidate, own: Own) -> bool:
    """Whether something may be relied on for a subscription: see the module."""
    key, wanted, _ = candidate
    if key == own.key or type(wanted) is not type(own.filter) or not wanted.covers(own.filter):
        return False
    return key < own.key or not own.filter.covers(wanted)


class OwnSubscriptions:
    """What the clients of one router want, and how far others are told of it.

    `others` are what is known of others, the longest slots first.
    """

    __slots__ = ("_others", "_telling", "records")

    def __init__(self, telling: Telling, others: Callable[[], Iterator[Candidate]]) -> None:
        self._telling = telling
        self._others = others
        self.records: dict[str, Own] = {}

    @property
    def unsettled(self) -> int:
        """How many are not told as far as they have to be, or not forgotten."""
        return sum(not own.is_settled for own in self.records.values())

    def add(self, key: str, filter: Interest) -> None:
        """A client wants something: tell others, as far as nobody stands for it."""
        nowhere = self._telling.digits + 1
        own = self.records[key] = Own(key, filter, nowhere, nowhere)
        self._extend(own)

    def withdraw(self, key: str) -> None:
        """A client does not want it any more; those who rely on it come first."""
        own = self.records[key]
        own.is_leaving, own.is_settled = True, False
        own.todo.clear()
        relying = self.uncover(key)  # before those who wait hear that it is not coming
        own.call()

        def uncovered() -> None:
            own.is_cancelled = True
            self._step(own)

        self.when_settled(relying, uncovered)

    def uncover(self, key: str) -> list[Own]:
        """What stood for some subscriptions does so no more; returns those that it stood for."""
        relying = [one for one in self.records.values() if one.relies_on == key]
        found = [one for one in relying if not one.is_leaving]
        for own in found:
            self._extend(own)
        return found

    def when_settled(self, some: Iterable[Own], then: Callable[[], None]) -> None:
        """Call once all of some subscriptions are told as far as they have to be."""
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
        """All in a level have answered."""
        own.is_busy = False
        self._step(own)

    def validate(self) -> None:
        """Check what the fields say of each other; raises `InvariantError`."""
        for key, own in self.records.items():
            if own.is_settled and (own.todo or own.is_busy or own.is_leaving or own.waiting):
                raise InvariantError(f"{key} is settled, and something is to be done for it")
            if own.is_settled and not own.relies_on and own.reach > 1:
                raise InvariantError(f"nobody stands for {key}, and it is not told everywhere")
            beside = self.records.get(own.relies_on)
            if own.is_settled and beside is not None and beside.is_leaving:
                raise InvariantError(f"{key} relies on {beside.key}, which is going")

    def _extend(self, own: Own) -> None:
        """See who stands for it, and have it told as far as is needed now."""
        found = next((one for one in self._candidates() if stands_for(one, own)), None)
        own.relies_on, reach = ("", 1) if found is None else (found.key, found.level)
        if reach < own.reach:
            own.reach, own.is_settled = reach, False
            own.todo = [level for level in self._telling.levels() if level >= reach]
        self._step(own)

    def _candidates(self) -> Iterator[Candidate]:
        """All that may stand for a subscription: what is told to the fewest for it first."""
        beside = self._telling.digits + 1
        for own in self.records.values():
            if not own.is_leaving:
                yield Candidate(own.key, own.filter, beside)
        yield from self._others()

    def _step(self, own: Own) -> None:
        """Go on with what is to be done, if nothing is under way."""
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
            return  # those who rely on it are not done
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
