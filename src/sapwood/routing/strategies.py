"""What a protocol is made of: a strategy in each of four slots, and which go together.

*Membership* says who a router's neighbors are, *propagation* which of them learns of which
subscription, *forwarding* where a publication goes, *upkeep* what keeps the state right in time.
A strategy has a name, which is a word of the protocol's name, a function that makes it for one
router, and rules: words that it needs beside it, and words that it cannot stand beside, each with
the reason. A protocol that breaks a rule cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from sapwood.errors import InputError
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.matching.engine_names import Engines
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.forwarding.protocol import Forwarding
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.protocol import Propagation, SubscriptionPropagation
from sapwood.routing.tables import Follower
from sapwood.routing.upkeep.protocol import Kept, Upkeep

DEFAULT_MEMBERSHIP: Final = "given"
DEFAULT_UPKEEP: Final = "replay"

KINDS: Final = ("records", "documents")
"""The filter languages."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Some words, and the reason, a sentence, why one of them has to be there, or may not be."""

    words: frozenset[str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A named choice for one slot.

    `name` may be more than one word, and have arguments, as in `advertisement+covering:poset`;
    rules are about the `words` in it, without arguments. For each rule that it `requires` one of
    the words has to be in the protocol, named or not; of those that it `excludes`, none may.
    `kinds` are the filter languages it can do with; `exact` ones deliver exactly the pairs that a
    brute-force matcher finds. `choose` is there where an argument may stand behind the colon of the
    name: it makes the strategy that this asks for, or raises `InputError`.
    """

    name: str
    summary: str
    requires: tuple[Rule, ...] = ()
    excludes: tuple[Rule, ...] = ()
    kinds: tuple[str, ...] = KINDS
    exact: bool = True
    choose: Callable[[str], Strategy] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The word of the name, without its argument."""
        return (self.name.partition(":")[0],)


S = TypeVar("S", bound=Strategy)


def by_name(*strategies: S) -> Mapping[str, S]:
    """A catalogue of strategies, in this order."""
    return MappingProxyType({strategy.name: strategy for strategy in strategies})


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipStrategy(Strategy):
    """Makes the membership of one router: name, protocol, engines, incarnation.

    `allows_circles`: links may form circles; under the others, they have to form a tree.
    `allows_loss`: it says nothing over links that has to arrive. `finds_links`: routers ask for the
    links that they need, once they know any other one.
    """

    make: Callable[[str, Protocol, Engines, int], Membership]
    allows_circles: bool = False
    allows_loss: bool = False
    finds_links: bool = False


MakePropagation: TypeAlias = Callable[[str, Follower[Interest]], SubscriptionPropagation]
"""Makes all subscriptions of one core: its identity, and what follows them."""

MakePromises: TypeAlias = Callable[[str], Callable[[], Propagation[AdvertisedContent]]]
"""Given the identity of a core, makes what makes what each of its links is told of advertisements.
"""


def no_promises(_: str) -> Callable[[], Propagation[AdvertisedContent]]:
    """Nothing is told of them."""
    return Flooding[AdvertisedContent]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationStrategy(Strategy):
    """Makes the subscriptions of one core.

    `clients_advertise`: clients have to advertise what they will publish, since subscriptions
    travel only towards advertisements; those travel as `promises` says. `routes_depend_on_order`:
    which links a publication crosses depends on the order in which subscriptions came (who receives
    it, never). `allows_loss`: no subscription travels that could be lost. `forwarding` and
    `membership` are the names of the strategies where none is named. `by_proximity`: of routers
    that could stand for each other the nearest does, for which they have delays measured. `of` are
    the words that it is put together from, those among them that are not in the name.
    """

    make: MakePropagation
    of: tuple[str, ...]
    clients_advertise: bool = False
    promises: MakePromises = no_promises
    routes_depend_on_order: bool = False
    allows_loss: bool = False
    by_proximity: bool = False
    forwarding: str = "every-hop"
    membership: str = DEFAULT_MEMBERSHIP

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it is put together from."""
        return self.of

    @property
    def tells_all(self) -> bool:
        """Whether every router is told of every subscription, under its own key."""
        return self.of == ("simple",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingStrategy(Strategy):
    """Makes the forwarding of one core: the router's name, its engines, how routers are told.

    `mark` is the byte with which its digests begin, `None` for one that writes none. `names_all`:
    its digests may name all who get a publication, and say so (`forwarding.protocol.Naming`).
    `by_type`: what it does differs for documents of types that are advertised.
    """

    make: Callable[[str, Engines, PropagationStrategy], Forwarding]
    mark: int | None = None
    names_all: bool = False
    by_type: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepStrategy(Strategy):
    """Makes the upkeep of one router.

    `persists`: it asks for a place where records survive a crash. `allows_loss`: it keeps the state
    of routing right although links lose, repeat and reorder messages. `heals`: whatever tables and
    messages under way have come to hold, tables become right by themselves. `calm_s`: so many
    seconds after the last fault, and the messages that it cost, they are; an overlay that has
    changed nothing for that long is at rest.
    """

    make: Callable[[Kept], Upkeep]
    persists: bool = False
    allows_loss: bool = False
    heals: bool = False
    calm_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Protocol:
    """A strategy in each slot; raises `InputError` for some that do not go together.

    `at_once`: so many subscriptions a new neighbor is told of before others have their turn.
    """

    membership: MembershipStrategy
    propagation: PropagationStrategy
    forwarding: ForwardingStrategy
    upkeep: UpkeepStrategy
    at_once: int = SUBSCRIPTIONS_AT_ONCE_MAX

    def __post_init__(self) -> None:
        check_rules(self.name, self.strategies)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The choice in each slot."""
        return (self.membership, self.propagation, self.forwarding, self.upkeep)

    @property
    def _defaults(self) -> tuple[str | None, ...]:
        """What goes without saying in each slot."""
        beside = self.propagation
        return (beside.membership, None, beside.forwarding, DEFAULT_UPKEEP)

    @property
    def name(self) -> str:
        """The words of all slots, in order, without what is chosen where none is named."""
        defaults = self._defaults
        chosen = zip(self.strategies, defaults, strict=True)
        return "+".join(strategy.name for strategy, default in chosen if strategy.name != default)

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        defaults = self._defaults
        chosen = zip(self.strategies, defaults, strict=True)
        others = [s.summary for s, name in chosen if name is not None and s.name != name]
        return "; ".join((self.propagation.summary, *others))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The filter languages it routes."""
        return tuple(kind for kind in KINDS if all(kind in s.kinds for s in self.strategies))

    @property
    def exact(self) -> bool:
        """Whether it delivers exactly the pairs that a brute-force matcher finds."""
        return all(strategy.exact for strategy in self.strategies)

    @property
    def blind_objection(self) -> str | None:
        """Why no publication can go unread from the first router on; `None` where one can."""
        if self.forwarding.names_all and self.membership.name == DEFAULT_MEMBERSHIP:
            return None
        if self.forwarding.names_all:
            why = f"under {self.membership.name!r} routers ask by content when trees change"
        else:
            why = "routers further on, or the last ones, have to look at content"
        return (
            f"under protocol {self.name!r} no publication can be blind: {why}; publish it as it "
            "is, or run the overlay with simple+reuse:always"
        )

    @property
    def clients_advertise(self) -> bool:
        """Whether clients have to advertise what they will publish."""
        return self.propagation.clients_advertise

    @property
    def routes_depend_on_order(self) -> bool:
        """Whether the links that publications cross depend on the order of subscriptions."""
        return self.propagation.routes_depend_on_order

    @property
    def allows_circles(self) -> bool:
        """Whether links may form circles."""
        return self.membership.allows_circles

    def make_forwarding(self, router: str, engines: Engines) -> Forwarding:
        """The forwarding of one core of a router."""
        return self.forwarding.make(router, engines, self.propagation)

    @property
    def allows_loss(self) -> bool:
        """Whether links may lose, repeat and reorder messages: only publications suffer then."""
        is_right = self.propagation.allows_loss or self.upkeep.allows_loss
        return is_right and self.membership.allows_loss

    @property
    def heals(self) -> bool:
        """Whether tables become right again, whatever has happened to them and to messages."""
        return self.upkeep.heals

    @property
    def calm_s(self) -> float:
        """Seconds without a change after which an overlay is at rest."""
        return self.upkeep.calm_s

    @property
    def persists(self) -> bool:
        """Whether routers ask for a place where records survive a crash."""
        return self.upkeep.persists


def check_rules(name: str, strategies: Iterable[Strategy]) -> None:
    """See that the strategies of a protocol go together; raises `InputError` with the reason."""
    chosen = tuple(strategies)
    words = {word for strategy in chosen for word in strategy.words}
    for strategy in chosen:
        for rule in strategy.requires:
            if not rule.words & words:
                raise InputError(f"protocol {name!r}: {rule.reason}")
        for rule in strategy.excludes:
            if rule.words & words:
                raise InputError(f"protocol {name!r}: {rule.reason}")
