"""One path of several: a mesh, with numbers for its publications and for the starts of branches.

A mesh knows no numbers. Its messages go out with the number of the publication which it was handed;
publications that it keeps until an older branch has ended (`TreeVersions.held`) are remembered here
with their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.effects import Deliver, Effect, Send
from sapwood.routing.inputs import ClientPublish, Input, Receive
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.tree_router import TreeRouter
from sapwood.routing.membership.redundant.confluence import Number
from sapwood.routing.messages import Carry, MeshMessage, OnPlane, OnTree, Publish


class Arrival(NamedTuple):
    """A publication that clients of this router subscribe to, and its deliveries."""

    source: str
    number: Number
    publication: Publication
    deliveries: tuple[Deliver, ...]


@dataclass(slots=True)
class Step:
    """The result of one input on one path; `begun` and `marked` are by source, `ended` are sources.

    `begun` has the first number of each stream, `None` where that is not known.
    """

    effects: list[Effect] = field(default_factory=list)
    begun: dict[str, Number | None] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    marked: dict[str, Number] = field(default_factory=dict)
    #: the deliveries here of a publication by one of this router's clients
    own: list[Deliver] = field(default_factory=list)
    #: the branch that carried this router's publications, if that is another one now
    old: TreeRouter | None = None


class Path:
    """One path of a router.

    #: _streams[s] is the epoch of the branch that brings the publications of s: the first branch,
    #: once it carries
    #: _firsts has, by source and epoch, the first number of each branch that carries
    #: _marks has marks that came on branches whose turn is yet to come
    #: _kept has what the mesh holds of a source: by identity, as that is all a mesh hands back
    """

    def __init__(self, number: int, mesh: Mesh) -> None:
        self.number = number
        self.mesh = mesh
        self._streams: dict[str, int] = {}
        self._firsts: dict[tuple[str, int], Number | None] = {}
        self._marks: dict[tuple[str, int], Number] = {}
        self._kept: dict[str, dict[int, tuple[Number, Publication]]] = {}

    def take(
        self,
        input: Input,
        now: float,
        count: int,
        published: int,
        said: MeshMessage | None = None,
    ) -> Step:
        """Take an input with the number beside it; `said` is the message inside a `Receive`.

        The number is that of a publication, or the one beside `Carry`, else 0. `published` is the
        number of this router's publications before.
        """
        mesh = self.mesh
        neighbor = input.neighbor if isinstance(input, Receive) else ""
        branch = None
        if isinstance(said, Carry):
            branch = self._below(neighbor, said)
            if branch is not None and branch.carries:
                return self._mark(branch, count)
        own = mesh.forest.own
        effects = mesh.handle(input, now)
        if isinstance(said, Carry) and branch is not None and branch.carries:
            first = Number(branch.version.incarnation, count) if count else None
            self._firsts[branch.source, branch.epoch] = first
        step = Step(old=None if mesh.forest.own is own else own)
        if step.old is not None and isinstance(input, ClientPublish):
            raise InvariantError("a publication lets no tree take over")
        current = self._current(said, neighbor, count)
        for effect in effects:
            if isinstance(effect, Send):
                step.effects.append(self._numbered(effect, count, published, is_new=bool(step.old)))
            elif not isinstance(effect, Deliver):
                step.effects.append(effect)
        delivered = [effect for effect in effects if isinstance(effect, Deliver)]
        if isinstance(input, ClientPublish):
            step.own = delivered
            return step
        sources: Iterable[str] = mesh.forest.trees
        if current is not None:
            sources = (current.source,)
        self._review(sources, step)
        self._arrived(current, delivered, step)
        return step

    def marks(self, branch: TreeRouter, count: int) -> list[Effect]:
        """Send the children of a branch the number of publications before it, as a mark."""
        return [
            Send(child, OnPlane(self.number, count, Carry(branch.source, branch.epoch)))
            for child in branch.place.children
            if child in branch.peers and child in self.mesh.forest.links
        ]

    def _below(self, neighbor: str, said: Carry) -> TreeRouter | None:
        trees = self.mesh.forest.trees.get(said.source)
        return None if trees is None else trees.below(neighbor, said.epoch)

    def _mark(self, branch: TreeRouter, count: int) -> Step:
        """Take the mark of a branch that carries: nothing up to a number is to come there."""
        step = Step(self.marks(branch, count))
        number = Number(branch.version.incarnation, count)
        if self._streams.get(branch.source) == branch.epoch:
            step.marked[branch.source] = number
        else:
            self._marks[branch.source, branch.epoch] = number
        return step

    def _current(self, said: MeshMessage | None, neighbor: str, count: int) -> _Current | None:
        """The publication that is being handled, if it is on a branch that there is."""
        if not isinstance(said, OnTree) or not isinstance(said.message, Publish):
            return None
        trees = self.mesh.forest.trees.get(said.source)
        for branch in () if trees is None else trees.branches:
            if branch.epoch == said.epoch and neighbor in branch.peers:
                number = Number(branch.version.incarnation, count)
                return _Current(said.source, number, said.message.publication)
        return None

    def _numbered(self, send: Send, count: int, published: int, *, is_new: bool) -> Send:
        """A message of the mesh, with the number that belongs to it."""
        message = send.message
        if not isinstance(message, MeshMessage):
            raise InvariantError(f"a mesh sends {type(message).__name__}, which no mesh receives")
        beside = 0
        if isinstance(message, OnTree):
            beside = count if isinstance(message.message, Publish) else 0
        elif isinstance(message, Carry):
            own = self.mesh.forest.own
            if message.source != self.mesh.name:
                beside = count
            elif is_new and message.epoch == own.epoch:
                beside = published + 1
        return replace(send, message=OnPlane(self.number, beside, message))

    def _review(self, sources: Iterable[str], step: Step) -> None:
        """Note the sources whose publications come on another branch now."""
        for source in sources:
            if source == self.mesh.name:
                continue
            branches = self.mesh.forest.trees[source].branches
            first = branches[0] if branches and branches[0].carries else None
            known = self._streams.get(source)
            if known == (None if first is None else first.epoch):
                continue
            if first is None:
                del self._streams[source]
                step.ended.append(source)
            else:
                self._streams[source] = first.epoch
                step.begun[source] = self._firsts.get((source, first.epoch))
                mark = self._marks.get((source, first.epoch))
                if mark is not None:
                    step.marked[source] = mark
            epochs = {branch.epoch for branch in branches}
            for kept in (self._firsts, self._marks):
                gone = [one for one in kept if one[0] == source and one[1] not in epochs]
                for one in gone:
                    del kept[one]

    def _arrived(self, current: _Current | None, delivered: list[Deliver], step: Step) -> None:
        """Number the deliveries: of the present publication, and of those held before."""
        by_publication: dict[int, list[Deliver]] = {}
        for effect in delivered:
            by_publication.setdefault(id(effect.publication), []).append(effect)
        known = {
            identity: (source, *kept)
            for source, held in self._kept.items()
            for identity, kept in held.items()
        }
        if current is not None:
            known[id(current.publication)] = current
        for identity, effects in by_publication.items():
            source, number, publication = known[identity]
            step.arrivals.append(Arrival(source, number, publication, tuple(effects)))
        if current is not None and id(current.publication) not in by_publication:
            held = self.mesh.forest.trees[current.source].held
            if held and held[-1].publication is current.publication:
                kept = self._kept.setdefault(current.source, {})
                kept[id(current.publication)] = (current.number, current.publication)
        for source in [s for s in self._kept if not self.mesh.forest.trees[s].held]:
            del self._kept[source]


class _Current(NamedTuple):
    source: str
    number: Number
    publication: Publication
