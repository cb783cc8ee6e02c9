"""Prefix forwarding at one router: what it sends where, and when it looks at content (XSiena 4).

Three sides have drawn subscriptions; a brute-force oracle says what each publication matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits.prefix import DONE_IN_PLACE_MAX, TREES_KEPT
from sapwood.matching.engine_names import Engines
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.prefix import prefix as module
from sapwood.routing.forwarding.prefix import reading as reading_module
from sapwood.routing.forwarding.prefix import snapshot as snapshot_module
from sapwood.routing.forwarding.prefix import tags as tags_module
from sapwood.routing.forwarding.prefix import trees as trees_module
from sapwood.routing.forwarding.prefix.digest import (
    HEAD_BYTES,
    WHOLE,
    Walks,
    head,
    is_whole,
    read,
)
from sapwood.routing.forwarding.prefix.digest import written as digest_of
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE, parts_of
from sapwood.routing.forwarding.prefix.prefix import Prefix
from sapwood.routing.forwarding.prefix.reading import Reading
from sapwood.routing.forwarding.prefix.reading import read as read_tree
from sapwood.routing.forwarding.prefix.snapshot import written
from sapwood.routing.forwarding.protocol import Routed
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS
from tests.routing.forwarding.deciding import SIDES, Known, accepted, sent, tell
from tests.routing.forwarding.prefix.drawing import filters, grown, many, records

TREE: Final = [parse_filter(text) for text in ("x > 3", "x < 5 and y = 1")]

tables = st.lists(st.tuples(st.sampled_from(SIDES), filters), max_size=10)
batches = st.lists(records, min_size=1, max_size=5).map(
    lambda some: [Publication(f"p{at}", one) for at, one in enumerate(some)]
)


def made(known: Sequence[tuple[str, Interest]], depth: int = WHOLE) -> tuple[Prefix, Known]:
    """A router with these subscriptions, under the keys k0, k1, ..., and the same as tables."""
    forwarding = Prefix(Engines("counting"), depth)
    table = tell(forwarding, known)
    return forwarding, table


def learn(forwarding: Prefix, table: Known, side: str, key: str, wanted: Interest) -> None:
    forwarding.learned(side, key, wanted)
    table[side][key] = wanted


def state(
    forwarding: Prefix, table: Known, some: Sequence[Filter], clock: int = 1, side: str = "r2"
) -> bytes:
    """Tell a router of the tree of some filters; returns the version."""
    data = written(grown(some))
    for place, part in enumerate(parts_of(clock, data)):
        learn(forwarding, table, side, f"t{clock}.{place}", part)
    return read_tree(data).version


def assert_exact(routed: Routed, known: Known, batch: Sequence[Publication]) -> None:
    assert [{*keys} for keys in routed.keys] == [accepted(known, CLIENTS, one) for one in batch]


@given(tables, many, batches, st.sampled_from([0, 1, 3, WHOLE]))
def test_where_a_publication_enters_all_get_it_that_want_it(
    known: list[tuple[str, Interest]], others: list[Filter], batch: list[Publication], depth: int
) -> None:
    forwarding, table = made(known, depth)
    state(forwarding, table, others)
    forwarding.validate(table)
    routed = forwarding.route(batch, None, [b""] * len(batch), 0.0)
    assert_exact(routed, table, batch)
    for side in SIDES[1:]:
        wanted = {at for at, one in enumerate(batch) if accepted(table, side, one)}
        assert wanted <= sent(routed, side).keys()
        assert all(is_whole(digest) for digest in sent(routed, side).values())
    counts = forwarding.counters()
    assert counts["content_matches"] == 0
    assert counts["trees_written"] == len(batch)


@given(tables, batches)
def test_with_the_tree_of_all_filters_nobody_gets_more(
    known: list[tuple[str, Interest]], batch: list[Publication]
) -> None:  # P15, P17
    plain = [(side, one) for side, one in known if isinstance(one, Filter)]
    told = [("r2" if side == CLIENTS else side, one) for side, one in plain]
    first, known_first = made(told)  # what clients of the second one want came from there
    second, table = made(plain)
    every = [one for _, one in plain]
    version = state(first, {side: {} for side in SIDES}, every)
    assert state(second, table, every) == version
    begun = first.route(batch, None, [b""] * len(batch), 0.0)
    patterns = any(box.patterns for one in every for box in one.conjunctions)
    for side in SIDES[1:]:
        wanted = [at for at, one in enumerate(batch) if accepted(known_first, side, one)]
        assert [*sent(begun, side)] == wanted or patterns
    walks = {**sent(begun, "r2"), **sent(begun, "r3")}
    places = sorted(walks)
    if places:
        some = [batch[at] for at in places]
        routed = second.route(some, "r2", [walks[at] for at in places], 0.0)
        assert_exact(routed, table, some)
        assert not sent(routed, "r2")
        assert {places[at] for at in sent(routed, "r3")} == sent(begun, "r3").keys()
        assert all(digest == walks[places[at]] for at, digest in sent(routed, "r3").items())
        assert second.counters()["content_matches"] == 0
        assert second.counters()["trees_followed"] == len(places)


def test_content_is_not_looked_at_behind_the_first_router() -> None:  # P17
    forwarding, table = made([("r3", TREE[0]), (CLIENTS, TREE[1])])
    version = state(forwarding, table, TREE)
    walked = read_tree(written(grown(TREE))).follow({"x": 4, "y": 1})
    opaque = Publication("p", {"x": -5})  # the content says no: nobody looks
    routed = forwarding.route((opaque,), "r2", [digest_of(head(version, WHOLE), walked)], 0.0)
    assert [*sent(routed, "r3")] == [0]
    assert [list(keys) for keys in routed.keys] == [["k1"]]


@given(tables, many, batches, st.lists(st.integers(0, 30), max_size=6), st.randoms())
def test_what_comes_and_goes_is_where_it_should_be(
    known: list[tuple[str, Interest]],
    others: list[Filter],
    batch: list[Publication],
    gone: list[int],
    generator: Any,
) -> None:  # P23
    forwarding, table = made(known[: len(known) // 2])
    state(forwarding, table, others[: len(others) // 2], clock=1)
    forwarding.learned_many("r3", [(f"m{at}", one) for at, one in enumerate(others)])
    table["r3"].update({f"m{at}": one for at, one in enumerate(others)})
    state(forwarding, table, others, clock=2, side="r3")
    for number, (side, wanted) in enumerate(known[len(known) // 2 :]):
        learn(forwarding, table, side, f"l{number}", wanted)
    keys = sorted((side, key) for side in SIDES for key in table[side])
    for at in gone:
        side, key = keys[at % len(keys)]
        if table[side].pop(key, None) is not None:
            forwarding.forgot(side, key)
    if generator.random() < 0.3:
        forwarding.remove_side("r3")
        del table["r3"]
        forwarding.add_side("r3")
        table["r3"] = {}
    forwarding.validate(table)
    routed = forwarding.route(batch, "r2", [b""] * len(batch), 0.0)
    assert_exact(routed, table, batch)
    assert sent(routed, "r3").keys() >= {
        at for at, one in enumerate(batch) if accepted(table, "r3", one)
    }


def test_of_several_versions_the_newest_is_used_and_each_is_read_with_its_own() -> None:  # P23
    forwarding, table = made([("r3", TREE[0])])
    old = state(forwarding, table, TREE, clock=7)
    new = state(forwarding, table, [TREE[0]], clock=8)
    routed = forwarding.route([Publication("p", {"x": 4})], None, [b""], 0.0)
    assert sent(routed, "r3")[0][2:HEAD_BYTES] == new
    for version, some in ((old, TREE), (new, TREE[:1])):
        walked = read_tree(written(grown(some))).follow({"x": 4})
        digest = digest_of(head(version, WHOLE), walked)
        routed = forwarding.route([Publication("p", {"x": 0})], "r2", [digest], 0.0)
        assert sent(routed, "r3") == {0: digest}
    forwarding.forgot("r2", "t8.0")
    routed = forwarding.route([Publication("p", {"x": 4})], None, [b""], 0.0)
    assert sent(routed, "r3")[0][2:HEAD_BYTES] == old


def test_a_version_that_is_not_known_is_passed_on_and_content_decides() -> None:
    forwarding, table = made([("r3", TREE[0]), (CLIENTS, TREE[0])])
    digest = digest_of(head(bytes(8), WHOLE), [0, 3])
    for number in range(2):
        routed = forwarding.route([Publication("p", {"x": 4})], "r2", [digest], 0.0)
        assert sent(routed, "r3") == {0: digest}
        assert [list(keys) for keys in routed.keys] == [["k1"]]
        assert forwarding.counters()["versions_unknown"] == number + 1
        state(forwarding, table, TREE, clock=number + 1)
    assert forwarding.digests_unread == 0


def test_no_more_versions_are_kept_than_there_should_be() -> None:
    forwarding, table = made([])
    versions = [
        state(forwarding, table, [parse_filter(f"x = {n}")], clock=n) for n in range(TREES_KEPT + 3)
    ]
    known = [forwarding._trees.of(version) is not None for version in versions]
    assert known == [False] * 3 + [True] * TREES_KEPT
    assert len(forwarding._trees) == TREES_KEPT
    forwarding.validate(table)
    forwarding.forgot("r2", f"t{TREES_KEPT}.0")
    assert forwarding._trees.of(versions[2]) is not None


@pytest.mark.parametrize("letters", [b"\x80", b"\x00", b"\x7f", b"\x81\x80\x80\x80\x01", b"?x"])
def test_what_is_no_digest_goes_on_unread(letters: bytes) -> None:
    forwarding, table = made([("r3", TREE[0])])
    version = state(forwarding, table, TREE)
    digest = letters if letters == b"?x" else head(version, WHOLE) + letters
    fine = digest_of(head(version, WHOLE), [0])
    batch = [Publication("p", {"x": 4}), Publication("q", {"x": 4})]
    routed = forwarding.route(batch, "r2", [digest, b""], 0.0)
    assert sent(routed, "r3")[0] == digest
    assert [*sent(routed, "r3")] == [0, 1]
    assert forwarding.digests_unread == 1
    assert not sent(forwarding.route(batch[:1], "r2", [fine], 0.0), "r3")
    assert forwarding.counters()["false_positives"] == 1


def test_documents_and_parts_of_trees_are_routed_by_content() -> None:
    forwarding, table = made(
        [("r3", parse_xpath("//b")), (CLIENTS, parse_filter(f"exists {ATTRIBUTE}"))]
    )
    state(forwarding, table, TREE)
    (part,) = table["r2"].values()
    assert isinstance(part, Filter)
    text = part.conjunctions[0].constraints[0][1].only
    batch = [
        Publication("document", document=b"<a><b/></a>"),
        Publication("both", {"x": 4}, document=b"<a><c/></a>"),
        Publication("part", {ATTRIBUTE: text}),
    ]
    routed = forwarding.route(batch, None, [b""] * 3, 0.0)
    assert sent(routed, "r3") == {0: b""}
    assert sent(routed, "r2") == {2: b""}
    assert [list(keys) for keys in routed.keys] == [[], [], ["k1"]]
    assert forwarding.counters()["content_matches"] == 3 * 3, "clients and two links"


def test_a_forwarding_tree_that_no_digest_holds_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "DIGEST_BYTES_MAX", HEAD_BYTES)
    forwarding, table = made([("r3", TREE[0])])
    state(forwarding, table, TREE)
    routed = forwarding.route([Publication("p", {"x": 4})], None, [b""], 0.0)
    assert sent(routed, "r3") == {0: b""}
    assert forwarding.counters()["content_matches"] == 3, "clients and two links"


def test_a_tree_is_used_when_all_is_read_and_placed_and_that_takes_several_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trees_module, "DONE_AT_ONCE", 2)
    monkeypatch.setattr(trees_module, "DONE_IN_PLACE_MAX", 0)
    monkeypatch.setattr(module, "DONE_IN_PLACE_MAX", 2)
    forwarding, table = made([("r3", parse_filter(f"x = {n}")) for n in range(3)])
    state(forwarding, table, TREE)
    forwarding.forgot("r3", "k0")
    del table["r3"]["k0"]
    for _ in range(3):  # six nodes
        assert forwarding.route([Publication("p", {"x": 2})], None, [b""], 0.0)
    assert forwarding.trees_written == 0
    written_ = []
    for step in range(5):
        forwarding.validate(table)
        batch = [Publication("p", {"x": 2})]
        routed = forwarding.route(batch, None, [b""], 0.0)
        assert [*sent(routed, "r3")] == [0]
        written_.append(forwarding.trees_written)
        if step == 2:
            more = [(f"m{n}", parse_filter(f"y = {n}")) for n in range(3)]
            forwarding.learned_many("r3", more)
            table["r3"].update(more)
    assert written_ == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("with_batches", [True, False])
def test_a_large_tree_is_read_some_nodes_at_a_time(
    with_batches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees_module, "DONE_AT_ONCE", 10)
    monkeypatch.setattr(trees_module, "DONE_IN_PLACE_MAX", 20)
    nodes: list[int] = []
    node = reading_module._node

    def counted(*given: Any) -> Any:
        nodes.append(1)
        return node(*given)

    monkeypatch.setattr(reading_module, "_node", counted)
    forwarding, table = made([("r3", parse_filter(f"v = {n} and w = {n}")) for n in range(25)])
    state(forwarding, table, [parse_filter(f"v = {n} and w = {n}") for n in range(25)])
    nodes.clear()  # `state` has read it, too
    batch = [Publication("p", {"v": 3, "w": 3})]
    steps = 0
    while forwarding.has_left:
        steps += 1
        if with_batches:
            assert [*sent(forwarding.route(batch, None, [b""], 0.0), "r3")] == [0]
        else:
            forwarding.clear(1000)
        assert len(nodes) <= 10 * steps
        forwarding.validate(table)
    assert steps == 6 + 3, "for 51 nodes, and 26 subscriptions with that of the tree"
    assert [*sent(forwarding.route(batch, None, [b""], 0.0), "r3")] == [0]
    assert forwarding.trees_written == 1 + with_batches


def test_of_a_tree_that_makes_no_sense_at_its_end_nothing_is_used() -> None:
    forwarding, table = made([("r3", TREE[0])])
    older = state(forwarding, table, TREE, clock=1)
    letters = snapshot_module._ENCODER.encode(
        [(1, b"", f"wrong = {n}") for n in range(DONE_IN_PLACE_MAX)] + [(3, b"", "wrong = 0")]
    )
    for place, part in enumerate(parts_of(2, letters)):
        learn(forwarding, table, "r2", f"t2.{place}", part)
    assert forwarding.has_left
    for _ in range(2):  # until it is found out, and afterwards
        routed = forwarding.route([Publication("p", {"x": 4})], None, [b""], 0.0)
        assert sent(routed, "r3")[0][2:HEAD_BYTES] == older
        while forwarding.has_left:
            forwarding.clear(1)
        forwarding.validate(table)
    assert len(forwarding._trees) == 1


def test_readers_of_one_tree_share_the_work_and_not_the_pace() -> None:
    data = written(grown([parse_filter(f"shared = {n}") for n in range(9)]))
    one, other = Reading(data), Reading(data)
    assert one.advance(100) == 10
    assert (one.left, other.left) == (0, 10)
    assert other.advance(4) == 4
    assert other.left == 6
    assert other.advance(6) == 6
    assert one.snapshot is other.snapshot


def test_a_record_that_leads_to_too_many_nodes_is_routed_by_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deep = [parse_filter(f"x > {n}") for n in range(40)]
    forwarding, table = made([("r3", deep[7]), (CLIENTS, deep[9])])
    state(forwarding, table, deep)
    monkeypatch.setattr(module, "WALK_STEPS_MAX", 20)
    batch = [Publication(f"p{x}", {"x": x}) for x in (10, 30, 9)]
    routed = forwarding.route(batch, None, [b""] * 3, 0.0)
    assert_exact(routed, table, batch)
    assert [bool(digest) for digest in sent(routed, "r3").values()] == [True, False, True]


@pytest.mark.parametrize("depth", [0, WHOLE])
def test_where_many_clients_have_no_exact_place_the_index_is_asked(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags_module, "OWN_ASKED_MAX", 3)
    wanted = [parse_filter(f"x > 3 and y = {n % 3}") for n in range(12)]
    forwarding, table = made([(CLIENTS, one) for one in wanted[:3]], depth)
    state(forwarding, table, TREE)
    batch = [Publication(f"p{y}", {"x": 4, "y": y}) for y in range(4)]
    for matches in (0, 4):
        before = forwarding.counters()["content_matches"]
        assert_exact(forwarding.route(batch, None, [b""] * 4, 0.0), table, batch)
        assert forwarding.counters()["content_matches"] - before == matches
        learn(forwarding, table, CLIENTS, f"more{matches}", wanted[3])


def test_links_beyond_a_word_of_marks_are_told_apart() -> None:
    forwarding, table = made([])
    state(forwarding, table, TREE)
    names = [f"n{number}" for number in range(70)]
    for number, name in enumerate(names):
        forwarding.add_side(name)
        forwarding.learned(name, f"{name}.k", parse_filter(f"x = {number}"))
    tree = [parse_filter(f"x = {number}") for number in range(70)]
    state(forwarding, table, tree, clock=2)
    batch = [Publication(f"p{number}", {"x": number}) for number in range(70)]
    routed = forwarding.route(batch, None, [b""] * 70, 0.0)
    assert {to: list(places) for to, places, _ in routed.onward} == {
        name: [number] for number, name in enumerate(names)
    }


def test_a_batch_with_very_many_matches_is_cut_where_content_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEYS_AT_ONCE", 2)
    forwarding, table = made([(CLIENTS, TREE[0])] * 2)
    state(forwarding, table, TREE)
    batch = [Publication(f"p{n}", {"x": 4}) for n in range(3)]
    routed = forwarding.route(batch, "r2", [b"?", b"", b""], 0.0)
    assert [sorted(keys) for keys in routed.keys] == [["k0", "k1"]]


def test_walks_are_read_as_they_were_written() -> None:
    rows = [[0], [0, 1, 127, 128, 300_000], [0], [0, 3, 203]]
    digests = [digest_of(head(bytes(range(1, 9)), 255), row) for row in rows]
    assert digests[3].hex() == "70ff0102030405060708" + "03c801"
    walks = read(digests, 300_001)
    assert walks is not None
    assert [*map(list, walks)] == [*map(list, Walks.of(rows))]
    assert read(digests, 300_000) is None
    assert read(digests[:1], 1) is not None


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("covering+prefix", "put prefix behind simple or identity"),
        ("xroute+prefix", "put prefix behind simple or identity"),
        ("advertisement+prefix", "leave out one of the two words"),
        ("flooding+prefix", "publications have to be flooded"),
        ("simple+prefix:x", "0 to 254, as in prefix:8"),
        ("simple+prefix:255", "0 to 254"),
        ("simple+prefix+reuse", "only one can"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(word: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        protocol(word)


@pytest.mark.parametrize(
    "damage",
    [
        lambda one: one._trees._filters["r2"].pop("k0"),
        lambda one: one._trees._letters.clear(),
        lambda one: tags_of(one)._counts["r2"].clear(),
        lambda one: tags_of(one)._own.clear(),
        lambda one: tags_of(one).marks.fill(0),
        lambda one: tags_of(one).has_own.fill(0),
        lambda one: tags_of(one).todo.update({("r2", "x"): TREE[0]}),
        lambda one: one._neighbors.pop("r3"),
    ],
)
def test_what_disagrees_with_the_tables_is_told(damage: Callable[[Any], None]) -> None:
    forwarding, table = made([("r2", TREE[0]), (CLIENTS, TREE[1])])
    state(forwarding, table, TREE)
    forwarding.validate(table)
    damage(forwarding)
    with pytest.raises(InvariantError):
        forwarding.validate(table)


def tags_of(forwarding: Prefix) -> Any:
    return forwarding._trees.newest
