"""The versions of one source's tree at one router: one carries, one grows, older ones drain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.membership.mesh.clients import Named
from sapwood.routing.membership.mesh.tree_router import Position, TreeRouter
from sapwood.routing.messages import Version


class Held(NamedTuple):
    """A publication that is kept from clients, and the place of its record, if it has one."""

    publication: Publication
    place: int | None


@dataclass(slots=True, eq=False)
class TreeVersions:
    """The trees of one source as one router knows them.

    The source publishes on one version, the *carrying* one, until the latest is in force. Older
    ones drain: publications on their way there are still delivered, and those that come on a later
    version meanwhile are held, so that the order is kept.

    #: place is that of the router in the latest tree that the source has announced
    #: branches are in the order of their versions; each is that of the latest, or none later than
    #: the one that carried when the latest was announced
    #: held came on one version, `holding`, which is later than that of the first branch
    """

    place: Position
    branches: list[TreeRouter] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    holding: Version | None = None

    @property
    def latest(self) -> TreeRouter | None:
        """The branch of the latest version."""
        return self.of(self.place.announced.version)

    @property
    def carrying(self) -> Version:
        """The version that carried when the latest was announced."""
        incarnation, _ = self.place.announced.version
        return Version(incarnation, self.place.announced.carrying)

    @property
    def is_dry(self) -> bool:
        """True if no version before the carrying one has a branch here."""
        return not self.branches or self.branches[0].version >= self.carrying

    def of(self, version: Version) -> TreeRouter | None:
        """The branch of a version."""
        return next((one for one in self.branches if one.version == version), None)

    def below(self, neighbor: str, epoch: int) -> TreeRouter | None:
        """The branch that is joined to an epoch of the neighbor's as its parent."""
        for branch in self.branches:
            if branch.place.parent == neighbor and branch.basis.parent_epoch == epoch:
                return branch
        return None

    def above(self, neighbor: str, epoch: int) -> TreeRouter | None:
        """The branch that an epoch of the neighbor's is joined to as a child."""
        for branch in self.branches:
            if neighbor in branch.place.children and branch.peers.get(neighbor) == epoch:
                return branch
        return None

    def superseded(self) -> list[TreeRouter]:
        """The branches that will never carry: they grew when the latest was announced."""
        latest, carrying = self.place.announced.version, self.carrying
        return [one for one in self.branches if carrying < one.version < latest]

    def is_in_force(self, named: Named) -> bool:
        """True if a subscription is in force wherever the source may publish from now on."""
        latest = self.latest
        if latest is None or named in latest.unconfirmed:
            return False
        if latest.carries:
            return True
        carrier = self.of(self.carrying)
        return carrier is not None and named not in carrier.unconfirmed

    def has_to_wait(self, branch: TreeRouter) -> bool:
        """True if an older version is still to deliver earlier publications."""
        return self.branches[0] is not branch

    def hold(self, version: Version, held: Held) -> None:
        """Hold a publication of a version until older ones have ended."""
        self.holding = version
        self.held.append(held)

    def older(self) -> list[TreeRouter]:
        """The branches that held publications wait for."""
        holding = self.holding
        return [] if holding is None else [one for one in self.branches if one.version < holding]

    def release(self) -> list[Held]:
        """The held publications, if nothing is to come before them any more; releases them."""
        if self.older():
            return []
        released, self.held, self.holding = self.held, [], None
        return released

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        source = self.place.announced.tree.source
        versions = [branch.version for branch in self.branches]
        if sorted(set(versions)) != versions or self.superseded():
            raise InvariantError(f"the branches of {source} are of other trees than they can be")
        if versions and versions[-1] > self.place.announced.version:
            raise InvariantError(f"a branch of {source} is later than the latest tree")
        if bool(self.held) != bool(self.older()):
            raise InvariantError(f"what came from {source} waits for nothing")
        for branch in self.branches:
            branch.validate()
