"""The containment hierarchy: properties PT1 to PT18 of the work, on exact interests."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError, UnknownIdError
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.options import (
    Clusters,
    Departure,
    HierarchyOptions,
    Variant,
)
from sapwood.overlay.semantic.hierarchy.probing import probe
from sapwood.overlay.semantic.hierarchy.state import ROOT
from sapwood.overlay.semantic.spreading import spread_by_clusters, spread_in_hierarchy
from tests.overlay.semantic.universe import (
    FILTERS,
    SIZE,
    Bits,
    depths,
    grown,
    ideal_depths,
    interest,
)

VARIANTS = st.sampled_from(Variant)
DEPARTURES = st.sampled_from(Departure)
SEEDS = st.integers(0, 2**20)
MANY = st.lists(FILTERS, min_size=1, max_size=25)
SMALL_TREES = HierarchyOptions(equivalent_children=4, rate=0.5, load=3)


def with_variant(variant: Variant, **choices: object) -> HierarchyOptions:
    return HierarchyOptions(variant=variant, equivalent_children=4, **choices)  # type: ignore[arg-type]


@st.composite
def changed(draw: st.DrawFn) -> Hierarchy[Bits]:
    """A hierarchy after any joins, leaves and crashes, of any kinds."""
    hierarchy: Hierarchy[Bits] = Hierarchy(
        with_variant(draw(VARIANTS), rate=0.5, cascade=draw(st.booleans()))
    )
    random = Random(draw(SEEDS))
    for one in draw(MANY):
        hierarchy.join(one, random)
        peers = list(hierarchy.state)
        match draw(st.integers(0, 5)):
            case 0:
                hierarchy.leave(random.choice(peers), random, draw(DEPARTURES))
            case 1:
                hierarchy.crash(random.sample(peers, random.randint(1, len(peers))), random)
        hierarchy.validate()
    return hierarchy


def wanting(hierarchy: Hierarchy[Bits], publication: int) -> set[int]:
    return {peer for peer in hierarchy.state if interest(hierarchy, peer).accepts(publication)}


@given(changed())
def test_nobody_misses_a_publication_whatever_happened_before(hierarchy: Hierarchy[Bits]) -> None:
    """PT5 (property 11), and PT7 (I1 to I4) after each change."""
    for publication in range(SIZE):
        wanted = wanting(hierarchy, publication)
        way = spread_in_hierarchy(hierarchy.state, wanted.__contains__)
        assert wanted <= set(way.received)


@given(changed())
def test_the_way_is_a_tree_whoever_publishes_and_the_closed_form_says_who_gets_it(
    hierarchy: Hierarchy[Bits],
) -> None:
    """PT3, PT4 and PT6 (properties 9 and 10)."""
    state = hierarchy.state
    if not len(state):
        return
    for publication in range(SIZE):
        wanted = wanting(hierarchy, publication)
        hits = hierarchy.hits(lambda one, at=publication: one.accepts(at))  # type: ignore[misc]
        expected = set(hierarchy.received(hits).tolist())
        assert set(hierarchy.interested(hits).tolist()) == wanted
        for publisher in (ROOT, *sorted(wanted)):
            way = spread_in_hierarchy(state, wanted.__contains__, publisher)
            assert way.again == 0
            assert set(way.received) == expected
            for peer, sender in way.came_from.items():
                assert sender in (ROOT, publisher) or sender in wanted, peer


@given(changed(), SEEDS)
def test_one_who_is_not_interested_can_publish_all_the_same(
    hierarchy: Hierarchy[Bits], seed: int
) -> None:
    for publication in range(SIZE):
        wanted = wanting(hierarchy, publication)
        others = sorted(set(hierarchy.state) - wanted)
        if others:
            publisher = Random(seed).choice(others)
            way = spread_in_hierarchy(hierarchy.state, wanted.__contains__, publisher)
            assert wanted <= set(way.received)


@given(changed(), SEEDS)
def test_clusters_change_nothing_but_who_sends(hierarchy: Hierarchy[Bits], seed: int) -> None:
    """PT18."""
    clusters = Clusters(hot=2, members=3)
    for publication in range(SIZE):
        wanted = wanting(hierarchy, publication)
        plain = spread_in_hierarchy(hierarchy.state, wanted.__contains__)
        relayed = spread_by_clusters(hierarchy.state, wanted.__contains__, clusters, Random(seed))
        assert set(relayed.received) == set(plain.received)
        assert relayed.sent.total() == plain.sent.total()
        count = hierarchy.state.load(ROOT)
        if count > 2:
            assert relayed.sent[ROOT] == -(-count // 3)


@given(MANY, VARIANTS, SEEDS)
def test_a_newcomer_is_below_the_deepest_container_with_the_fewest_children(
    filters: list[Bits], variant: Variant, seed: int
) -> None:
    """PT10, against every peer of the tree as it was; and PT9's bound."""
    hierarchy: Hierarchy[Bits] = Hierarchy(with_variant(variant, rate=0.5))
    state, random = hierarchy.state, Random(seed)
    for one in filters:
        before, loads = depths(hierarchy), {peer: state.load(peer) for peer in state}
        roots = [peer for peer in state if not state.tagged[peer]]
        peer, cost = hierarchy.join(one, random)
        assert all(
            before[one] <= ideal for one, ideal in ideal_depths(hierarchy).items() if one in before
        )
        if state.tagged[peer]:
            assert interest(hierarchy, state.parent[peer]) == one
            continue
        containers = [
            (-before[other], loads[other])
            for other in roots
            if interest(hierarchy, other).covers(one)
        ]
        parent = state.parent[peer]
        if not containers:
            assert parent == ROOT
        else:
            assert (-before[parent], loads[parent]) == min(containers)
        assert all(old <= new for _, old, new in cost.moves)
        assert all(new == depths(hierarchy)[peer] + 1 for _, _, new in cost.moves)


@given(MANY, SEEDS)
def test_full_joins_with_the_cascade_give_the_ideal_depths(filters: list[Bits], seed: int) -> None:
    """PT9."""
    hierarchy = grown(filters, with_variant(Variant.FULL, cascade=True), seed)
    assert depths(hierarchy) == ideal_depths(hierarchy)


@pytest.mark.parametrize(("cascade", "depth"), [(False, 2), (True, 3)])
def test_a_full_join_alone_is_not_optimal(cascade: bool, depth: int) -> None:
    """PT9's regression: X, A, B and Q of the dossier, against the work's own claim (L2801)."""
    x, a, b, q = Bits(0b1000), Bits(0b1001), Bits(0b1010), Bits(0b1101)
    hierarchy = grown([x, a, b, q], with_variant(Variant.FULL, cascade=cascade))
    assert depths(hierarchy)[1] == depth


def test_a_newcomer_between_two_takes_the_lower_one_along() -> None:
    """Figure 7.2: P6 moves from P5 to Q."""
    hierarchy = grown([Bits(0b111), Bits(0b001), Bits(0b011)], with_variant(Variant.FULL))
    assert [hierarchy.state.parent[peer] for peer in (1, 2, 3)] == [ROOT, 3, 1]
    assert hierarchy.state.grand[2] == 1


@given(MANY, FILTERS, SEEDS)
def test_who_is_asked_grows_with_the_variant(filters: list[Bits], one: Bits, seed: int) -> None:
    """PT13: basic reaches the containers, their children and one way among equals."""
    hierarchy = grown(filters, with_variant(Variant.FULL, rate=0.5), seed)
    state = hierarchy.state
    number = hierarchy.interests.number(one)
    reached = {}
    for variant in Variant:
        found = probe(state, number, variant, Random(seed))
        assert len(set(found.reached)) == len(found.reached)
        reached[variant] = set(found.reached)
    assert reached[Variant.BASIC] <= reached[Variant.ADAPTIVE] <= reached[Variant.FULL]
    containers = {
        peer
        for peer in state
        if interest(hierarchy, peer).covers(one) and interest(hierarchy, peer) != one
    }
    asked = {child for peer in containers for child in state.children(peer)}
    asked |= set(state.children(ROOT))
    others = reached[Variant.BASIC] - asked
    assert {peer for peer in reached[Variant.BASIC] if peer in asked} == asked
    assert all(interest(hierarchy, peer) == one for peer in others)


@given(MANY, SEEDS)
def test_an_adaptive_join_becomes_full_or_basic_at_its_ends(filters: list[Bits], seed: int) -> None:
    """PT14."""
    for rate, load, same in ((1.0, 0, Variant.FULL), (0.0, 2**30, Variant.BASIC)):
        one = grown(filters, with_variant(Variant.ADAPTIVE, rate=rate, load=load), seed)
        other = grown(filters, with_variant(same), seed)
        assert one.state.parent == other.state.parent
        assert one.state.interest == other.state.interest


def test_phase_3_moves_only_from_busier_parents() -> None:
    """PT12: after each move the newcomer has no more children than the old parent had."""
    for seed in range(200):
        random = Random(seed)
        hierarchy: Hierarchy[Bits] = Hierarchy(with_variant(Variant.FULL))
        for _ in range(25):
            before = hierarchy.copy()
            _, cost = hierarchy.join(Bits(random.randrange(1, 2**SIZE)), random)
            level = [one for one, old, new in cost.moves if old == new]
            for number, one in enumerate(level):
                parent = before.state.parent[one]
                others = len(cost.moves) - len(level)
                assert others + number + 1 <= before.state.load(parent)


@given(MANY, FILTERS, SEEDS, st.booleans())
def test_who_is_moved_gets_no_nearer_to_the_root(
    filters: list[Bits], one: Bits, seed: int, strict: bool
) -> None:
    """PT11: deeper in phase 2, as deep in phase 3, by the depths of the tree before and after."""
    hierarchy = grown(filters, with_variant(Variant.FULL, strict=strict), seed)
    before = depths(hierarchy)
    newcomer, cost = hierarchy.join(one, Random(seed))
    level = hierarchy.state.depth(newcomer)
    moved = {peer for peer, _, _ in cost.moves}
    assert len(moved) == len(cost.moves)
    phases = []
    for peer, old, new in cost.moves:
        assert hierarchy.state.parent[peer] == newcomer
        assert new == level + 1 >= old
        # Peers that went along with one that moved before are as deep as that made them.
        phases.append(new == old)
        assert hierarchy.state.depth(peer) >= before[peer]
    assert phases == sorted(phases)  # phase 2, in which all get deeper, comes first


def test_equals_are_one_tree_within_its_bounds() -> None:
    """PT8: at most L below a member, L / r below the root, and all in one piece."""
    hierarchy = grown([Bits(0b11)] * 300, with_variant(Variant.ADAPTIVE))
    state = hierarchy.state
    random = Random(1)
    for _ in range(200):
        assert state.load(ROOT) == 1
        for peer in state:
            assert state.equal_count[peer] <= (4 if state.tagged[peer] else 2)
        hierarchy.leave(random.choice(list(state)), random)
        hierarchy.validate()


@given(changed(), SEEDS, DEPARTURES)
def test_a_leaf_takes_the_place_of_its_equal(
    hierarchy: Hierarchy[Bits], seed: int, departure: Departure
) -> None:
    """PT17."""
    state = hierarchy.state
    roots = [peer for peer in state if state.equal_count[peer] and not state.tagged[peer]]
    if not roots:
        return
    peer = Random(seed).choice(roots)
    parent, children, own = state.parent[peer], set(state.children(peer)), interest(hierarchy, peer)
    hierarchy.leave(peer, Random(seed), departure)
    hierarchy.validate()
    above = {state.parent[child] for child in children}
    assert len(above) <= 1
    for heir in above:
        assert interest(hierarchy, heir) == own
        assert state.parent[heir] == parent


@given(changed(), SEEDS)
def test_a_basic_leave_concerns_the_neighbors_alone(hierarchy: Hierarchy[Bits], seed: int) -> None:
    """PT15."""
    state = hierarchy.state
    peers = [peer for peer in state if not state.equal_count[peer]]
    if not peers:
        return
    peer = Random(seed).choice(peers)
    around = set(state.neighbors(peer)) - {ROOT}
    cost = hierarchy.leave(peer, Random(seed))
    assert cost.involved == around
    hierarchy.validate()


@given(MANY, SEEDS)
def test_full_leaves_keep_an_optimal_tree_optimal(filters: list[Bits], seed: int) -> None:
    """PT16: depths stay the ideal ones, so nobody gets deeper."""
    hierarchy = grown(filters, with_variant(Variant.FULL, cascade=True), seed)
    random = Random(seed)
    while len(hierarchy) > 1:
        hierarchy.leave(random.choice(list(hierarchy.state)), random, Departure.FULL)
        hierarchy.validate()
        assert depths(hierarchy) == ideal_depths(hierarchy)


def test_a_join_can_begin_at_any_peer_and_climbs_to_a_container() -> None:
    hierarchy = grown([Bits(0b111), Bits(0b011), Bits(0b100)], with_variant(Variant.BASIC))
    peer, cost = hierarchy.join(Bits(0b001), Random(0), known=3)
    assert hierarchy.state.parent[peer] == 2
    assert cost.involved == {1, 2, 3}
    equal, _ = hierarchy.join(Bits(0b001), Random(0), known=peer)
    assert (hierarchy.state.parent[equal], hierarchy.state.tagged[equal]) == (peer, 1)


def test_the_worked_example_of_the_layout_holds() -> None:
    """The columns in the docstring of `state.py`."""
    bits = [Bits(0b111), Bits(0b011), Bits(0b101), Bits(0b011)]
    state = grown(bits, with_variant(Variant.BASIC)).state
    assert list(state.parent) == [-1, 0, 1, 1, 2]
    assert list(state.grand) == [-1, -1, 0, 0, 1]
    assert list(state.interest) == [-1, 0, 1, 2, 1]
    assert list(state.tagged) == [0, 0, 0, 0, 1]
    assert list(state.first) == [1, 2, -1, -1, -1]
    assert list(state.last) == [1, 3, -1, -1, -1]
    assert list(state.first_equal) == [-1, -1, 4, -1, -1]
    assert list(state.next) == [-1, -1, 3, -1, -1]
    assert list(state.previous) == [-1, -1, -1, 2, -1]
    assert list(state.count) == [1, 2, 0, 0, 0]
    assert list(state.equal_count) == [0, 0, 1, 0, 0]
    assert state.bytes == 205


def test_a_snapshot_stays_as_it_was() -> None:
    hierarchy = grown([Bits(0b111), Bits(0b011)])
    before = hierarchy.copy()
    hierarchy.leave(1, Random(0))
    before.validate()
    assert len(before) == 2
    assert len(hierarchy) == 1


@pytest.mark.parametrize(
    ("column", "peer", "value", "what"),
    [
        ("parent", 2, 3, "another child"),
        ("grand", 2, 2, "grandparent"),
        ("interest", 2, 2, "does not contain"),
        ("tagged", 4, 0, "tag"),
        ("count", 1, 7, "counted"),
        ("next", 3, 2, "counted"),
        ("peers", None, 9, "below the root"),
    ],
)
def test_a_damaged_tree_is_found(column: str, peer: int | None, value: int, what: str) -> None:
    bits = [Bits(0b111), Bits(0b011), Bits(0b101), Bits(0b011)]
    state = grown(bits, with_variant(Variant.BASIC)).state
    if peer is None:
        setattr(state, column, value)
    else:
        getattr(state, column)[peer] = value
    with pytest.raises(InvariantError, match=what):
        state.validate()


def test_who_is_not_there_cannot_leave_and_choices_have_bounds() -> None:
    hierarchy = grown([Bits(1)])
    with pytest.raises(UnknownIdError):
        hierarchy.leave(7, Random(0))
    with pytest.raises(UnknownIdError):
        hierarchy.crash([ROOT], Random(0))
    with pytest.raises(InputError, match="chance"):
        HierarchyOptions(rate=2)
    with pytest.raises(InputError, match="at least"):
        HierarchyOptions(equivalent_children=0)
    with pytest.raises(InputError, match="cluster"):
        Clusters(hot=1, members=0)
