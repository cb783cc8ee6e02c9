"""A protocol: one strategy in each of four slots, and the rules for combining them.

*Membership* determines a router's neighbors, *propagation* which subscriptions each neighbor
receives, *forwarding* the links that a publication takes, *upkeep* how the state stays right in
time. A strategy has a name, which is a word of the protocol's name, a function that makes it for
one router, and rules: words that it needs beside it, and words that it excludes, each with the
reason. A protocol that breaks a rule cannot be made.
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
    """A set of words, one of which is required (or none allowed), and the reason, a sentence."""

    words: frozenset[str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A named choice for one slot.

    `name` may be more than one word, and have arguments, as in `advertisement+covering:poset`;
    rules are about the `words` in it, without arguments. For each rule that it `requires`, one of
    the rule's words has to be in the protocol, named or not; of those that it `excludes`, none may
    be. `kinds` are the filter languages it supports; `exact` strategies deliver exactly the pairs
    that a brute-force matcher finds. `choose` is set where an argument may stand behind the colon
    of the name: it returns the strategy for that argument, or raises `InputError`.
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
        """The word of the name, without its argument, as a tuple."""
        return (self.name.partition(":")[0],)


S = TypeVar("S", bound=Strategy)


def by_name(*strategies: S) -> Mapping[str, S]:
    """A catalogue of strategies, in this order."""
    return MappingProxyType({strategy.name: strategy for strategy in strategies})


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipStrategy(Strategy):
    """Makes the membership of one router: name, protocol, engines, incarnation.

    `allows_circles`: links may form circles; otherwise they have to form a tree. `allows_loss`:
    none of its messages over links has to arrive. `finds_links`: routers request the links that
    they need, once they know any other router.
    """

    make: Callable[[str, Protocol, Engines, int], Membership]
    allows_circles: bool = False
    allows_loss: bool = False
    finds_links: bool = False


MakePropagation: TypeAlias = Callable[[str, Follower[Interest]], SubscriptionPropagation]
"""Makes all subscriptions of one core, given the core's identity and the tables' follower."""

MakePromises: TypeAlias = Callable[[str], Callable[[], Propagation[AdvertisedContent]]]
"""Given the identity of a core, returns a function that makes the advertisements of one link."""


def no_promises(_: str) -> Callable[[], Propagation[AdvertisedContent]]:
    """Propagate no advertisement: subscriptions do not depend on any."""
    return Flooding[AdvertisedContent]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationStrategy(Strategy):
    """Makes the subscriptions of one core.

    `clients_advertise`: clients have to advertise what they will publish, since subscriptions
    travel only towards advertisements; `promises` determines how advertisements travel.
    `routes_depend_on_order`: the links that a publication crosses depend on the order in which
    subscriptions came (its receivers never do). `allows_loss`: no subscription travels that could
    be lost. `forwarding` and `membership` are the names of the strategies for slots left unnamed.
    `of` are the words that it is put together from, including those that are not in the name.
    """

    make: MakePropagation
    of: tuple[str, ...]
    clients_advertise: bool = False
    promises: MakePromises = no_promises
    routes_depend_on_order: bool = False
    allows_loss: bool = False
    forwarding: str = "every-hop"
    membership: str = DEFAULT_MEMBERSHIP

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it is put together from."""
        return self.of

    @property
    def tells_all(self) -> bool:
        """True if every router receives every subscription, under its own key."""
        return self.of == ("simple",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingStrategy(Strategy):
    """Makes the forwarding of one core, given the router's name, its engines and the propagation.

    `mark` is the first byte of its digests, `None` for a strategy that writes none. `names_all`:
    its digests may name all receivers of a publication, and mark that they do
    (`forwarding.protocol.Naming`). `by_type`: it treats documents by their advertised types.
    """

    make: Callable[[str, Engines, PropagationStrategy], Forwarding]
    mark: int | None = None
    names_all: bool = False
    by_type: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepStrategy(Strategy):
    """Makes the upkeep of one router.

    `persists`: it needs a store in which records survive a crash. `allows_loss`: it keeps routing
    state right although links lose, repeat and reorder messages. `heals`: tables become right by
    themselves, whatever tables and messages under way have come to hold. `calm_s`: the number of
    seconds after the last fault, and after the messages that it caused, at which they are right; an
    overlay that has changed nothing for that long is at rest.
    """

    make: Callable[[Kept], Upkeep]
    persists: bool = False
    allows_loss: bool = False
    heals: bool = False
    calm_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Protocol:
    """A strategy in each slot; raises `InputError` for strategies that do not go together.

    `at_once`: the number of subscriptions sent to a new neighbor before other work has its turn.
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
        """The default name of each slot; `None` where the slot is always named."""
        beside = self.propagation
        return (beside.membership, None, beside.forwarding, DEFAULT_UPKEEP)

    @property
    def name(self) -> str:
        """The words of all slots, in order, without the defaults."""
        defaults = self._defaults
        chosen = zip(self.strategies, defaults, strict=True)
        return "+".join(strategy.name for strategy, default in chosen if strategy.name != default)

    @property
    def summary(self) -> str:
        """A description of the protocol, in one line."""
        defaults = self._defaults
        chosen = zip(self.strategies, defaults, strict=True)
        others = [s.summary for s, name in chosen if name is not None and s.name != name]
        return "; ".join((self.propagation.summary, *others))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The filter languages that it routes."""
        return tuple(kind for kind in KINDS if all(kind in s.kinds for s in self.strategies))

    @property
    def exact(self) -> bool:
        """True if it delivers exactly the pairs that a brute-force matcher finds."""
        return all(strategy.exact for strategy in self.strategies)

    @property
    def blind_objection(self) -> str | None:
        """The reason why no publication can travel blind; `None` where one can."""
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
        """True if clients have to advertise what they will publish."""
        return self.propagation.clients_advertise

    @property
    def routes_depend_on_order(self) -> bool:
        """True if the links that publications cross depend on the order of subscriptions."""
        return self.propagation.routes_depend_on_order

    @property
    def allows_circles(self) -> bool:
        """True if links may form circles."""
        return self.membership.allows_circles

    def make_forwarding(self, router: str, engines: Engines) -> Forwarding:
        """The forwarding of one core of a router."""
        return self.forwarding.make(router, engines, self.propagation)

    @property
    def allows_loss(self) -> bool:
        """True if links may lose, repeat and reorder messages: only publications suffer then."""
        is_right = self.propagation.allows_loss or self.upkeep.allows_loss
        return is_right and self.membership.allows_loss

    @property
    def heals(self) -> bool:
        """True if tables become right again, whatever has happened to them and to messages."""
        return self.upkeep.heals

    @property
    def calm_s(self) -> float:
        """Seconds without a change after which an overlay is at rest."""
        return self.upkeep.calm_s

    @property
    def persists(self) -> bool:
        """True if routers need a store in which records survive a crash."""
        return self.upkeep.persists


def check_rules(name: str, strategies: Iterable[Strategy]) -> None:
    """Check the rules of a protocol's strategies; raises `InputError` with the reason."""
    chosen = tuple(strategies)
    words = {word for strategy in chosen for word in strategy.words}
    for strategy in chosen:
        for rule in strategy.requires:
            if not rule.words & words:
                raise InputError(f"protocol {name!r}: {rule.reason}")
        for rule in strategy.excludes:
            if rule.words & words:
                raise InputError(f"protocol {name!r}: {rule.reason}")
