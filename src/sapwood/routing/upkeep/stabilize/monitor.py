"""Comparison of neighbors' tables on request, where no upkeep compares them of its own.

`sapwood check` asks a broker, whatever upkeep its protocol has. The questions and answers are those
of `stabilize` (`notes`, `edges`), but nothing is corrected, no timer asks again, and the sketches
of tables are dropped when an answer is there. They pass beside upkeep: no number, no lease and no
record goes with them, and the upkeep's state stays what it was.

A difference in one comparison may only be under way: held back by another upkeep, waiting for a
disk, overtaken on a lossy link. So what differs is compared a second time, and an entry is wrong
that differs both times. Sequence numbers are not compared: `leases` and `recover` have rules of
their own for them, and routing needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.tables import SentEntry, Table
from sapwood.routing.upkeep.protocol import Compared, Kept
from sapwood.routing.upkeep.stabilize import edges
from sapwood.routing.upkeep.stabilize.edges import Difference, Holder, Sender
from sapwood.routing.upkeep.stabilize.notes import (
    Again,
    Ask,
    Correct,
    Cut,
    Found,
    Listing,
    Observe,
    Said,
    Sketch,
    note_of,
    said_in,
)

_Look: TypeAlias = Callable[[Mapping[str, Table], str], Iterator[tuple[str, SentEntry]]]


@dataclass(slots=True)
class Edge:
    """Both edges to one neighbor, as they were last compared.

    #: suspects are the names that differed in the comparison before, `None` before the first
    """

    sender: Sender
    holder: Holder = field(default_factory=Holder)
    suspects: frozenset[str] | None = None
    #: completed comparisons as the sender, and the wrong and all entries of the last one
    rounds: int = 0
    wrong: int = 0
    entries: int = 0
    #: the number of entries in the holder's last answer
    held: int = 0
    #: true if the holder has asked for the result of the next one
    is_asked: bool = False
    #: results received as the holder, and the last of them
    heard: int = 0
    found: Found = field(default_factory=lambda: Found(0, 0))


class Monitor:
    """Compares the tables of one router with those of its neighbors on request.

    `holds_back` is true for a neighbor to which messages of routing are not sent now: then there is
    nothing to compare.

    #: _edges has neighbors whose links have been up since the first question
    """

    __slots__ = ("_edges", "_holds_back", "_router")

    def __init__(self, router: Kept, holds_back: Callable[[str], bool] = lambda _: False) -> None:
        self._router = router
        self._holds_back = holds_back
        self._edges: dict[str, Edge] = {}

    def forget(self, neighbor: str) -> None:
        """Forget the questions on a link that has come up, or is gone: they are not answered."""
        self._edges.pop(neighbor, None)

    def compare(self) -> list[Effect]:
        """Ask all neighbors for their tables, and for comparisons of their own."""
        effects: list[Effect] = []
        for neighbor in self._router.membership.neighbors():
            edge = self._edge(neighbor)
            if not self._holds_back(neighbor):
                effects += [self._observe(neighbor, edge), Send(neighbor, note_of(Ask()))]
        return effects

    def compared(self) -> Sequence[Compared] | None:
        """The edges to all neighbors, both ways; `None` where tables cannot be compared."""
        if not self._router.tables:
            return None
        own = self._router.name
        found: list[Compared] = []
        for name, edge in self._edges.items():
            found.append(Compared(own, name, edge.rounds, edge.wrong, edge.entries))
            found.append(Compared(name, own, edge.heard, edge.found.wrong, edge.found.entries))
        return found

    def heard(self, received: Receive) -> list[Effect] | None:
        """Answer a neighbor's note; `None` for a note, or a router, of another kind."""
        message = received.message
        said = said_in(message.note) if isinstance(message, UpkeepNote) else None
        if said is None or not self._router.tables:
            return None
        if received.neighbor not in self._router.membership.neighbors():
            return []
        return self._answers(received.neighbor, self._edge(received.neighbor), said)

    @property
    def wrong(self) -> int | None:
        """Entries of neighbors that were wrong in the last comparison; `None` before any."""
        return sum(edge.wrong for edge in self._edges.values()) if self._edges else None

    def _edge(self, neighbor: str) -> Edge:
        edge = self._edges.get(neighbor)
        if edge is None:
            seed = f"{self._router.name}/{self._router.incarnation}/{neighbor}"
            edge = self._edges[neighbor] = Edge(Sender(seed))
        return edge

    def _entries(self, look: _Look, neighbor: str) -> Iterator[tuple[str, SentEntry]]:
        """The entries of one side of the tables, without sequence numbers."""
        for name, (key, content, _) in look(self._router.tables, neighbor):
            yield name, SentEntry(key, content, 0)

    def _observe(self, neighbor: str, edge: Edge) -> Send:
        """Begin the first of two comparisons."""
        edge.suspects = None
        return self._look_again(neighbor, edge)

    def _look_again(self, neighbor: str, edge: Edge) -> Send:
        told = self._entries(edges.sent, neighbor)
        return Send(neighbor, note_of(edge.sender.observe(told, edge.held)))

    def _answers(self, neighbor: str, edge: Edge, said: Said) -> list[Effect]:
        match said:
            case Observe():
                held = self._entries(edges.held, neighbor)
                notes = edge.holder.answer(said, held)
                answers: list[Effect] = [Send(neighbor, note_of(one)) for one in notes]
                edge.holder.table.afresh()
                return answers
            case Sketch():
                edge.held = said.count
                told = self._entries(edges.sent, neighbor)
                was_asking, asked = edge.sender.is_asking, edge.sender.heard_sketch(said, told)
                if asked is not None:
                    return [Send(neighbor, note_of(asked))]
                is_alike = was_asking and not edge.sender.is_asking
                return self._ended(neighbor, edge, 0) if is_alike else []
            case Listing():
                told = self._entries(edges.sent, neighbor)
                found = edge.sender.heard_listing(said, told)
                return [] if found is None else self._differs(neighbor, edge, found)
            case Ask():
                edge.is_asked = True
                return [] if self._holds_back(neighbor) else [self._observe(neighbor, edge)]
            case Found():
                edge.heard, edge.found = edge.heard + 1, said
                return []
            case Correct() | Again() | Cut():
                return []  # its tables are not ours to change, and no publication is counted

    def _differs(self, neighbor: str, edge: Edge, found: Difference) -> list[Effect]:
        names = frozenset((*found.missing, *found.surplus))
        if names and edge.suspects is None:
            edge.suspects = names
            return [self._look_again(neighbor, edge)]
        return self._ended(neighbor, edge, len(names & (edge.suspects or names)))

    def _ended(self, neighbor: str, edge: Edge, wrong: int) -> list[Effect]:
        """End a comparison, and send the result to the holder if it asked."""
        table = edge.sender.table
        edge.rounds, edge.wrong, edge.entries = edge.rounds + 1, wrong, len(table)
        table.afresh()
        if not edge.is_asked:
            return []
        edge.is_asked = False
        return [Send(neighbor, note_of(Found(wrong, edge.entries)))]
