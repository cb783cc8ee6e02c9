"""Publications in batches: routers do for each destination what they do with one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import HOPS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication
from sapwood.routing import admitting
from sapwood.routing import pool as pool_module
from sapwood.routing.effects import CloseLink, Effect, Refused, Remaining, Send, SendMany
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientUnadvertise,
    Input,
    LinkUp,
    Receive,
    ReceiveMany,
)
from sapwood.routing.messages import Advertise, ConfirmAdvertisement, Publish, PublishMany
from sapwood.routing.router import Router
from tests.batches import batch_of, by_destination, each
from tests.examples import examples
from tests.routing.seams.catalogue import CATALOGUES
from tests.routing.wiring import LINE, PROTOCOLS, STAR, Wiring, core_of

FILTERS = (
    *("n >= 0", "n < 3", "n = 1 or n = 4", "s = 'x'", "exists s", "n > 9", "n is null"),
    *map(parse_xpath, ("//e", "/d/e[@k='x']", "/f", "//d[e=1]")),
)
CLIENTS = {"a": "r1", "b": "r2", "c": "r3"}


class BatchWiring(Wiring):
    """Routers that hand on batches as such."""

    def give(self, name: str, entered: Input) -> list[Effect]:
        router = self.router(name)
        effects = router.handle(entered, now=0.0)
        router.validate()
        self.log.extend(
            (name, effect) for effect in each(effects) if not isinstance(effect, Remaining)
        )
        for effect in effects:
            match effect:
                case SendMany(neighbor, many):
                    self.give(neighbor, ReceiveMany(name, many))
                case Remaining(rest):
                    self.give(name, rest)
                case _:
                    if isinstance(effect, Send) and (name, effect.neighbor) in self.queues:
                        self.queues[name, effect.neighbor].append(effect.message)
        return effects


@cache
def publications() -> st.SearchStrategy[list[Publication]]:
    attributes = st.fixed_dictionaries(
        {}, optional={"n": st.integers(0, 5), "s": st.sampled_from(("x", "y"))}
    )
    names = st.sampled_from(("p", "q", "r"))
    documents = st.sampled_from((b"<d><e/></d>", b"<d><e k='x'>1</e></d>", b"<f/>"))
    one = st.one_of(
        st.builds(Publication, names, attributes),
        st.builds(Publication, names, attributes),
        st.builds(Publication, names, st.none(), documents),
        st.builds(Publication, names, attributes, documents),
    )
    return st.lists(one, min_size=1, max_size=8)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from(sorted(CLIENTS)), publications()),
        st.tuples(
            st.just("subscribe"),
            st.sampled_from(sorted(CLIENTS)),
            st.tuples(st.sampled_from(("s1", "s2", "s3")), st.sampled_from(FILTERS)),
        ),
        st.tuples(
            st.just("unsubscribe"),
            st.sampled_from(sorted(CLIENTS)),
            st.sampled_from(("s1", "s2", "s3")),
        ),
    ),
    max_size=10,
)


def played(wiring: Wiring, taken: Sequence[tuple[str, str, object]]) -> dict[str, object]:
    """The effects of each router for each destination."""
    for client, router in CLIENTS.items():
        wiring.attach(router, client)
    for kind, client, what in taken:
        router = CLIENTS[client]
        if kind == "subscribe":
            assert isinstance(what, tuple)
            interest = parse_filter(what[1]) if isinstance(what[1], str) else what[1]
            wiring.give(router, ClientSubscribe(client, what[0], interest))
        elif kind == "unsubscribe":
            wiring.unsubscribe(router, client, what)  # type: ignore[arg-type]
        elif isinstance(wiring, BatchWiring):
            assert not wiring.router(router).refused(client, what)  # type: ignore[arg-type]
            wiring.give(router, ClientPublishMany(client, batch_of(what)))  # type: ignore[arg-type]
        else:
            for one in what:  # type: ignore[attr-defined]
                wiring.give(router, ClientPublish(client, one))
                wiring.settle()
        wiring.settle()
    return {
        name: by_destination(effect for who, effect in wiring.log if who == name)
        for name in wiring.routers
    }


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "mesh+covering"])
@settings(max_examples=examples(15))
@given(taken=steps, edges=st.sampled_from((LINE, STAR)))
@pytest.mark.one_in(6)
def test_routers_do_for_each_destination_what_they_do_one_by_one(
    protocol: str, taken: list[tuple[str, str, object]], edges: tuple[tuple[str, str], ...]
) -> None:
    one_by_one = played(Wiring(protocol, edges), taken)
    assert played(BatchWiring(protocol, edges), taken) == one_by_one


def subscribed(*subscriptions: tuple[str, str, str]) -> Router:
    wiring = Wiring("covering")
    for client, id_, text in subscriptions:
        if client not in core_of(wiring.router("r1")).subscriptions.entries.by_client:
            wiring.attach("r1", client)
        wiring.subscribe("r1", client, id_, text)
    return wiring.router("r1")


ADVERTISED: tuple[str | AdvertisedContent, ...] = (
    *("n >= 2", "n = 1", "s = 'x'", "n is null or s = 'y'"),
    *(parse_xpath("//e"), parse_xpath("/f"), parse_advertisement("/d/e")),
)
"""Filters of records as texts, and of documents, by path and by paths."""


SOME = [Publication(f"p{number}", {"n": number}) for number in range(6)]


def test_a_batch_with_very_many_matches_is_cut_and_the_rest_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    router = subscribed(*(("c", f"s{at}", f"n >= {-at}") for at in range(4)))
    router.handle(LinkUp("r2"), 0.0)
    whole = list(each(router.handle(ClientPublishMany("c", batch_of(SOME)), 0.0)))
    monkeypatch.setattr(pool_module, "_HELD_MAX", 8)
    for batch in (batch_of(SOME), SOME):
        entered: Input | None = ClientPublishMany("c", batch)
        parts: list[list[Effect]] = []
        while entered is not None:
            effects = list(each(router.handle(entered, 0.0)))
            rest = [effect.input for effect in effects if isinstance(effect, Remaining)]
            assert not rest or isinstance(effects[-1], Remaining)
            parts.append(effects[: len(effects) - len(rest)])
            entered = rest[0] if rest else None
        assert len(parts) > 1
        together = by_destination(effect for part in parts for effect in part)
        assert together == by_destination(whole)


def test_the_rest_of_what_a_neighbor_sent_has_its_own_digests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    router = subscribed(("c", "s", "n >= 0"))
    router.handle(LinkUp("r2"), 0.0)
    monkeypatch.setattr(pool_module, "_HELD_MAX", 1)
    digests = tuple(b"k%d" % number for number in range(len(SOME)))
    many = PublishMany("r2", 1, batch_of(SOME), digests)
    effects = router.handle(ReceiveMany("r2", many), 0.0)
    assert isinstance(effects[-1], Remaining)
    rest = effects[-1].input
    assert isinstance(rest, ReceiveMany)
    left = len(rest.publications.batch)
    assert list(rest.publications.batch) == SOME[-left:]
    assert rest.publications.digests == digests[-left:]


@pytest.mark.parametrize(("origin", "hops"), [("r1", 1), ("r9", HOPS_MAX + 1)])
def test_a_batch_that_went_in_a_circle_closes_the_link_once(origin: str, hops: int) -> None:
    router, other = subscribed(("c", "s", "n >= 0")), subscribed(("c", "s", "n >= 0"))
    for one in (router, other):
        one.handle(LinkUp("r2"), 0.0)
    effects = router.handle(ReceiveMany("r2", PublishMany(origin, hops, batch_of(SOME))), 0.0)
    closed = other.handle(Receive("r2", Publish(origin, hops, SOME[0])), 0.0)
    assert effects == closed
    assert sum(isinstance(effect, CloseLink) for effect in effects) == 1


def test_what_comes_over_a_link_that_is_down_is_ignored() -> None:
    many = PublishMany("r2", 1, batch_of(SOME))
    assert Router("r1").handle(ReceiveMany("r2", many), 0.0) == []
    assert Router("r1", "mesh+covering").handle(ReceiveMany("r2", many), 0.0) == []


def test_a_batch_that_is_on_no_tree_closes_the_link_of_a_mesh() -> None:
    router = Router("r1", "mesh+covering")
    router.handle(LinkUp("r2"), 0.0)
    effects = router.handle(ReceiveMany("r2", PublishMany("r2", 1, batch_of(SOME))), 0.0)
    assert isinstance(effects[-1], CloseLink)
    tree = ("r9", 1)
    on_tree = PublishMany("r2", 1, batch_of(SOME), tree=tree)
    other = Router("r1", "mesh+covering")
    other.handle(LinkUp("r2"), 0.0)
    assert other.handle(ReceiveMany("r2", on_tree), 0.0) == []


def test_the_refused_of_a_batch_are_those_that_are_refused_one_by_one() -> None:
    wiring = Wiring("covering")
    wiring.attach("r1", "c")
    router = wiring.router("r1")
    assert router.refused("c", SOME) == ()
    wiring.advertise("r1", "c", "a", "n >= 4")
    assert router.refused("c", batch_of(SOME)) == [0, 1, 2, 3]
    advertising = Router("r1", "advertisement+covering")
    advertising.handle(AttachClient("c"), 0.0)
    assert list(advertising.refused("c", SOME)) == [*range(6)]
    with pytest.raises(AssertionError):
        advertising.handle(ClientPublishMany("c", batch_of(SOME)), 0.0)


@pytest.mark.parametrize("protocol", ["covering", "advertisement+covering", "mesh+covering"])
@pytest.mark.parametrize("held", [1, 1 << 16])
@given(
    advertised=st.lists(st.sampled_from(ADVERTISED), max_size=4, unique=True),
    withdrawn=st.integers(0, 4),
    some=publications(),
    is_batch=st.booleans(),
)
def test_a_publication_of_a_batch_is_refused_where_it_is_refused_alone(
    protocol: str,
    held: int,
    advertised: list[str | AdvertisedContent],
    withdrawn: int,
    some: list[Publication],
    is_batch: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(admitting, "_HELD_MAX", held)
        router = Router("r1", protocol)
        router.handle(AttachClient("c"), 0.0)
        for number, content in enumerate(advertised):
            wanted = parse_filter(content) if isinstance(content, str) else content
            router.handle(ClientAdvertise("c", f"a{number}", wanted), 0.0)
            router.refused("c", some)  # it notices what comes, and what goes
        for number in range(min(withdrawn, len(advertised))):
            router.handle(ClientUnadvertise("c", f"a{number}"), 0.0)
        refused = router.refused("c", batch_of(some) if is_batch else some)
        alone = [router.handle(ClientPublish("c", one), 0.0) for one in some]
        assert list(refused) == [
            place for place, came in enumerate(alone) if isinstance(came[-1], Refused)
        ]


def test_what_is_not_in_force_yet_admits_nothing() -> None:
    router = Router("r1", "advertisement+covering")
    router.handle(AttachClient("c"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    [told] = router.handle(ClientAdvertise("c", "a", parse_filter("n >= 4")), 0.0)
    assert isinstance(told, Send)
    assert isinstance(told.message, Advertise)
    assert list(router.refused("c", batch_of(SOME))) == [*range(6)]
    confirmed = ConfirmAdvertisement(told.message.key, told.message.sending)
    router.handle(Receive("r2", confirmed), 0.0)
    assert list(router.refused("c", batch_of(SOME))) == [0, 1, 2, 3]


def test_upkeep_that_looks_at_messages_gets_them_one_by_one() -> None:
    routers = [Router("r1", CATALOGUES.protocol("covering+beats")) for _ in range(2)]
    entered: list[Input] = [
        AttachClient("c"),
        LinkUp("r2"),
    ]
    for one in routers:
        for each_input in entered:
            one.handle(each_input, 0.0)
    together = routers[0].handle(ClientPublishMany("c", batch_of(SOME)), 0.0)
    singly = [e for one in SOME for e in routers[1].handle(ClientPublish("c", one), 0.0)]
    assert together == singly
    many = PublishMany("r2", 1, batch_of(SOME))
    arrived = routers[0].handle(ReceiveMany("r2", many), 0.0)
    assert arrived == [e for m in many.messages() for e in routers[1].handle(Receive("r2", m), 0.0)]


def test_a_batch_of_a_core_with_other_forwarding_is_carried_out_one_by_one() -> None:
    with pytest.raises(InvariantError):
        core_of(subscribed(("c", "s", "n >= 0"))).apply(ClientPublish("c", SOME[0]))
