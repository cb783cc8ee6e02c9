"""Planted bugs of lookup reuse: each must be found by the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sapwood.routing.forwarding.reuse.key_table import KeyTable, Told
from sapwood.routing.forwarding.reuse.reuse import Reuse
from sapwood.routing.forwarding.reuse.side import KeyedSide, Named
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn
from tests.simulation.matched_once import sending_the_digest_before, taken_over_under_way
from tests.simulation.test_protocols import calm

Patch = pytest.MonkeyPatch
LOST, UNEXPECTED = frozenset({"lost"}), frozenset({"unexpected"})
ALWAYS, TWO, COVERED = "simple+reuse:always", "simple+reuse:partial:2", "covering+reuse:partial:2"


def keeps_keys_that_are_gone(patch: Patch) -> None:
    patch.setattr(KeyTable, "remove", lambda *_: None)


def takes_keys_for_complete_wherever_they_were_cut(patch: Patch) -> None:
    named = KeyedSide.named
    patch.setattr(KeyedSide, "named", lambda self, batch, most: named(self, batch, most - 1))


def takes_keys_for_complete_where_others_are_covered(patch: Patch) -> None:
    written = KeyTable.written
    patch.setattr(KeyTable, "written", lambda *given, **_: written(*given, tells_all=True))


def looks_for_keys_at_the_next_side(patch: Patch) -> None:
    passed_on = KeyTable.passed_on
    patch.setattr(
        KeyTable,
        "passed_on",
        lambda self, digests, told, serial: passed_on(self, digests, told, serial + 1),
    )


def delivers_what_is_known_of_a_link(patch: Patch) -> None:
    own = Reuse._own

    def anywhere(self: Reuse, batch: Any, told: Told) -> Any:
        """Take the number of a link's subscription for one of a client."""
        numbers = told.found & ((1 << 32) - 1)
        is_one = np.isin(numbers, [*self.holders.numbers.values()])
        return own(self, batch, told._replace(found=np.where(is_one, numbers, told.found)))

    patch.setattr(Reuse, "_own", anywhere)


def all_whole(told: Told) -> Told:
    return told._replace(is_whole=told.is_told.copy())


def asks_no_clients_but_those_with_keys(patch: Patch) -> None:
    own = Reuse._own
    patch.setattr(Reuse, "_own", lambda self, batch, told: own(self, batch, all_whole(told)))


def asks_no_links_but_those_with_keys(patch: Patch) -> None:
    onward = Reuse._onward
    patch.setattr(
        Reuse,
        "_onward",
        lambda self, batch, came, told, *more: onward(self, batch, came, all_whole(told), *more),
    )


def sends_the_digest_of_another(patch: Patch) -> None:
    patch.setattr(Reuse, "route", sending_the_digest_before(Reuse.route))


def keeps_the_hash_of_who_had_the_number(patch: Patch) -> None:
    numbered = KeyedSide._numbered

    def kept(self: KeyedSide, key: str, hashed: int) -> int:
        number = self.holders.numbers[key]
        before = self.hashes[number] if number < len(self.hashes) else hashed
        return numbered(self, key, before)

    patch.setattr(KeyedSide, "_numbered", kept)


def leaves_out_the_last_key(patch: Patch) -> None:
    named = KeyedSide.named

    def cut(self: KeyedSide, batch: Any, most: int) -> Any:
        hashes, offsets = named(self, batch, most)
        kept = [hashes[first:last][: max(1, last - first - 1)] for first, last in pairs(offsets)]
        ends = np.cumsum([0, *map(len, kept)])
        return Named(np.concatenate([hashes[:0], *kept]), ends)

    patch.setattr(KeyedSide, "named", cut)


def pairs(offsets: Any) -> list[tuple[int, int]]:
    return [*zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


MUTANTS: list[tuple[Callable[[Patch], None], frozenset[str], str]] = [
    (keeps_keys_that_are_gone, UNEXPECTED, ALWAYS),
    (takes_keys_for_complete_wherever_they_were_cut, LOST, TWO),
    (takes_keys_for_complete_where_others_are_covered, LOST, COVERED),
    (looks_for_keys_at_the_next_side, LOST, ALWAYS),
    (delivers_what_is_known_of_a_link, UNEXPECTED, ALWAYS),
    (asks_no_clients_but_those_with_keys, LOST, TWO),
    (asks_no_links_but_those_with_keys, LOST, TWO),
    (sends_the_digest_of_another, LOST, ALWAYS),
    (keeps_the_hash_of_who_had_the_number, LOST, ALWAYS),
    (leaves_out_the_last_key, LOST, ALWAYS),
]


def scenarios() -> Iterator[Any]:
    yield taken_over_under_way()
    yield calm("tree:7", 7)
    for seed in range(30):
        yield drawn(seed, Mixture(documents=seed % 2 == 0))


@pytest.mark.parametrize(
    ("plant", "wanted", "word"), MUTANTS, ids=[plant.__name__ for plant, _, _ in MUTANTS]
)
@pytest.mark.one_in(5)
def test_planted_bugs_are_found(
    plant: Callable[[Patch], None],
    wanted: frozenset[str],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(Reuse, "validate", lambda *_: None)  # clients are to find it
    assert_found(router_maker(word), wanted, scenarios(), word)
