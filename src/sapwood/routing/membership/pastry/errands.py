"""Broadcasts by delegation: what begins at one router reaches all in a range, once (IRBR, 004).

A router that looks after a range hands the ranges of its slots in it on to the routers that stand
for them (L146-155). It answers (`RangeReached`) when all of these have answered, so that the sender
of a range knows when all routers there have the errand; until then it keeps it. That is more than
the work requires (it has a message sent and forgotten), and the guarantees rest on it:

* A link that goes takes with it what was on it, and its end what it had not yet handed on. A router
  that waits for an answer from there hands the same range to another router in it, else sends it
  round (REDIRECT, L233-243): to peers nearer and nearer to the middle of the range, until one is in
  it.
* So a part of a range may get the same twice, from two that looked after it. A router remembers the
  tasks it had a part in (bounded by `ERRANDS_REMEMBERED_MAX`), takes each once, and hands on only
  ranges that it has not handed on before.
* Two publications of one origin go the same way, in their order, as long as the same routers stand
  for the ranges on it. Where another one has come to stand for a range, or none does, the next one
  waits until all before it have been answered (`_Lane`).

A router that answers for a range waits for what was handed on in it, and for nothing else, also
where more was handed on before; ranges that are handed on get shorter, and routers on the way round
nearer. So nothing waits for itself, and everything is answered, or the link is gone over which it
should be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from sapwood.limits.structured import ERRANDS_REMEMBERED_MAX
from sapwood.overlay.identifiers import EVERYTHING, Range
from sapwood.routing.forwarding.delegation.digest import Delegated, decode, encode
from sapwood.routing.membership.pastry.circle import Circle
from sapwood.routing.messages import Publish, RangeCancel, RangeReached, RangeSubscribe, Task

Errand: TypeAlias = RangeSubscribe | RangeCancel | Publish
"""The messages that are handed on."""


class Order(NamedTuple):
    """The fields of an errand beside its contents: its task, its range, whether it goes round.

    Only for publications it matters that one goes again, as a router that is gone may have
    delivered it.
    """

    task: Task
    range: Range
    is_redirected: bool
    is_again: bool = False


def order_of(errand: Errand) -> Order | None:
    """The order of an errand; `None` where it is a publication that was not delegated."""
    if not isinstance(errand, Publish):
        return Order(errand.task, errand.range, errand.is_redirected)
    said = decode(errand.digest)
    if said is None:
        return None
    task = Task(errand.origin, said.life, said.number)
    return Order(task, said.range, said.is_redirected, said.is_again)


def _addressed(errand: Errand, order: Order) -> Errand:
    """The same errand with another order."""
    task, range_, is_redirected, is_again = order
    if not isinstance(errand, Publish):
        return replace(errand, range=range_, is_redirected=is_redirected)
    digest = encode(Delegated(task.life, task.number, range_, is_redirected, is_again))
    return replace(errand, hops=errand.hops + 1, digest=digest)


@dataclass(slots=True, eq=False)
class Run:
    """An errand in one range, at a router that looks after it, or that is on the way round to it.

    #: it is over when waiting and blockers are empty, and then `after` is called once
    #: waiting[slot] is the router that was handed that slot; "" where it waits in a lane
    #: blockers is the number of other things to be done here; then `after_blockers` is called
    """

    errand: Errand
    task: Task
    range: Range
    #: the routers to answer, each with its range
    answers: dict[tuple[str, Range], None] = field(default_factory=dict)
    waiting: dict[Range, str] = field(default_factory=dict)
    is_again: bool = False
    blockers: int = 0
    after: list[Callable[[], None]] = field(default_factory=list)
    after_blockers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def is_publication(self) -> bool:
        """True if its order among others matters."""
        return isinstance(self.errand, Publish)


@dataclass(slots=True)
class _Lane:
    """The publications on their way to one range: all go by one peer, or wait until all are there.

    #: on_way is not empty, unless held is; all of it was handed to `hop`
    """

    hop: str = ""
    on_way: dict[Task, None] = field(default_factory=dict)
    held: deque[Run] = field(default_factory=deque)


Parts: TypeAlias = Callable[[Errand, Range, bool], Iterable[Range]]
"""Takes an errand, for the first time (true) or for a range that is new to it, and returns the
slots in the range that must have it."""

_ROUND: Final = True


class Errands:
    """All broadcasts that one router has a part in; `parts` carries one out here.

    #: _runs has those that are not over: by task, range, and whether it is only on the way round
    #: _sent[task, slot, hop] are the runs that wait for that answer
    #: _ranges[task] are the ranges of a task that this router has looked after, or does
    """

    __slots__ = ("_circle", "_lanes", "_life", "_number", "_parts", "_ranges", "_runs", "_sent")

    def __init__(self, circle: Circle, life: int, parts: Parts) -> None:
        self._circle = circle
        self._life = life
        self._parts = parts
        self._number = 0
        self._runs: dict[tuple[Task, Range, bool], Run] = {}
        self._sent: dict[tuple[Task, Range, str], list[Run]] = {}
        self._ranges: dict[Task, dict[Range, None]] = {}
        self._lanes: dict[Range, _Lane] = {}

    def __len__(self) -> int:
        """The number of runs that are not over."""
        return len(self._runs)

    def new_task(self) -> Task:
        """Make a new task."""
        self._number += 1
        return Task(self._circle.name, self._life, self._number)

    def begin(self, errand: Errand, task: Task, slots: Iterable[Range]) -> Run:
        """Begin a broadcast here, to these slots."""
        run = Run(errand, task, EVERYTHING)
        self._remember(task, EVERYTHING)
        self._runs[task, EVERYTHING, not _ROUND] = run
        for slot in slots:
            self._hand_on(run, slot)
        return run

    def level(self, length: int) -> list[Range]:
        """The slots of `length` digits with a router in them, or with one expected."""
        slots = [slot for slot, _ in self._circle.tables.rows() if len(slot) == length]
        return slots + [slot for slot in self._expected("") if len(slot) == length]

    def levels(self) -> list[int]:
        """The lengths of slots with a router in them, or with one expected, ascending."""
        slots = [slot for slot, _ in self._circle.tables.rows()]
        return sorted({len(slot) for slot in (*slots, *self._expected(""))})

    def all_slots(self, within: Range) -> list[Range]:
        """The slots in a range with a router in them, or with one expected."""
        return [slot for slot, _ in self._circle.tables.rows(within)] + self._expected(within)

    def _expected(self, within: Range) -> list[Range]:
        tables = self._circle.tables
        inside = [
            slot
            for slot in self._circle.expected_slots()
            if slot.startswith(within) and len(slot) > len(within)
        ]
        return [slot for slot in inside if tables.representative(slot) is None]

    # Incoming errands --------------------------------------------------------------------------

    def take(self, neighbor: str, errand: Errand, order: Order) -> None:
        """Take an errand that came from a neighbor."""
        task, range_, is_redirected, _ = order
        if not self._circle.tables.identifier.startswith(range_):
            assert is_redirected, "who hands a range on hands it to somebody in it"
            self._take_round(neighbor, errand, order)
            return
        run = self._runs.get((task, range_, not _ROUND))
        if run is not None:
            run.answers[neighbor, range_] = None
            return
        self._look_after(neighbor, errand, order)

    def _look_after(self, neighbor: str, errand: Errand, order: Order) -> None:
        """Begin to look after a range, some or all of which may have been looked after before."""
        task, range_, _, is_again = order
        known = tuple(self._ranges.get(task, ()))
        run = Run(errand, task, range_, {(neighbor, range_): None}, is_again=is_again)
        if known:
            self._join(run)
        self._runs[task, range_, not _ROUND] = run
        run.blockers += 1  # while it is begun
        if not any(range_.startswith(one) for one in known):
            self._remember(task, range_)
            for slot in self._parts(errand, range_, not known):
                if not any(slot.startswith(one) for one in known):
                    self._hand_on(run, slot)
        self._unblock(run)

    def _join(self, run: Run) -> None:
        """Let a run wait for answers in its range that others of its task await; no more.

        Two routers that look after ranges with a common part may each have the other in theirs: if
        one waited for all that the other has to do, it could wait for itself.
        """
        others = [one for (task, _, way), one in self._runs.items() if task == run.task and not way]
        for other in others:
            for slot, hop in other.waiting.items():
                if slot.startswith(run.range) and len(slot) > len(run.range):
                    run.waiting[slot] = hop
                    if hop:
                        self._sent[run.task, slot, hop].append(run)
                    else:
                        self._lanes[slot].held.append(run)
            if other.blockers:
                run.blockers += 1
                other.after_blockers.append(partial(self._unblock, run))

    def block(self, run: Run) -> Callable[[], None]:
        """Keep a run from being over until the returned function is called, once."""
        run.blockers += 1
        return lambda: self._unblock(run)

    def running(self, order: Order) -> Run | None:
        """The run of an errand that is being taken, or is not over."""
        return self._runs.get((order.task, order.range, not _ROUND))

    def _unblock(self, run: Run) -> None:
        run.blockers -= 1
        if not run.blockers:
            waiting, run.after_blockers = run.after_blockers, []
            for call in waiting:
                call()
        self.check(run)

    def _take_round(self, neighbor: str, errand: Errand, order: Order) -> None:
        """Hand on an errand that goes round, to a nearer router."""
        task, range_, _, is_again = order
        run = self._runs.get((task, range_, _ROUND))
        if run is None:
            run = self._runs[task, range_, _ROUND] = Run(errand, task, range_, is_again=is_again)
            self._hand_on(run, range_)
        run.answers[neighbor, range_] = None
        self.check(run)

    def reached(self, neighbor: str, message: RangeReached) -> None:
        """Take a neighbor's answer for a range."""
        task, slot = message.task, message.range
        runs = self._sent.pop((task, slot, neighbor), None)
        if runs is None:
            return  # another router has been asked meanwhile
        for run in runs:
            run.waiting.pop(slot, None)
            self.check(run)
        self._next(slot, task)

    # Outgoing errands --------------------------------------------------------------------------

    def _hand_on(self, run: Run, slot: Range) -> None:
        """Hand a slot to the router that stands for it, or send it round if a nearer one exists."""
        hop, is_redirected = self._hop(slot)
        run.waiting.pop(slot, None)
        if hop is None:
            return
        if run.is_publication:
            lane = self._lanes.setdefault(slot, _Lane())
            if lane.held or (lane.on_way and lane.hop != hop):
                run.waiting[slot] = ""
                lane.held.append(run)
                return
            lane.hop = hop
            lane.on_way[run.task] = None
        run.waiting[slot] = hop
        waiting = self._sent.setdefault((run.task, slot, hop), [])
        waiting.append(run)
        if len(waiting) == 1:
            order = Order(run.task, slot, is_redirected, run.is_again)
            self._circle.send(hop, _addressed(run.errand, order))

    def _hop(self, slot: Range) -> tuple[str | None, bool]:
        tables = self._circle.tables
        stands = tables.representative(slot)
        if stands is not None:
            return stands, False
        return tables.next_hop(tables.space.doubled_middle(slot)), True

    def _next(self, slot: Range, task: Task) -> None:
        """Note that a task has reached a slot; if it was the last, the held ones may go."""
        lane = self._lanes.get(slot)
        if lane is None or task not in lane.on_way:
            return
        del lane.on_way[task]
        if lane.on_way:
            return
        del self._lanes[slot]
        for run in lane.held:
            self._hand_on(run, slot)
            self.check(run)

    def link_down(self, peer: str) -> None:
        """Hand the errands of a peer that is gone to other routers, in the same order."""
        gone = [sent for sent in self._sent if sent[2] == peer]
        again = [(slot, run) for task, slot, _ in gone for run in self._sent[task, slot, peer]]
        for sent in gone:
            del self._sent[sent]
        for _, run in again:
            run.is_again = True
        held: list[tuple[Range, Run]] = []
        for slot in dict.fromkeys(slot for slot, _ in again):
            lane = self._lanes.get(slot)
            if lane is not None and lane.hop == peer:
                del self._lanes[slot]
                held.extend((slot, run) for run in lane.held)
        for slot, run in (*again, *held):
            self._hand_on(run, slot)
        for run in list(self._runs.values()):
            for answer in [one for one in run.answers if one[0] == peer]:
                del run.answers[answer]
        for _, run in (*again, *held):
            self.check(run)

    def check(self, run: Run) -> None:
        """Answer for a run if it is over."""
        if run.waiting or run.blockers:
            return
        for way in (not _ROUND, _ROUND):
            if self._runs.get((run.task, run.range, way)) is run:
                del self._runs[run.task, run.range, way]
                for neighbor, range_ in run.answers:
                    self._circle.send(neighbor, RangeReached(run.task, range_))
                after, run.after = run.after, []
                for call in after:
                    call()

    def _remember(self, task: Task, range_: Range) -> None:
        self._ranges.setdefault(task, {})[range_] = None
        if len(self._ranges) > ERRANDS_REMEMBERED_MAX:
            del self._ranges[next(iter(self._ranges))]
