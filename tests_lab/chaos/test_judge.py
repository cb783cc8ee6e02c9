"""The oracle of campaigns, with what it has to find planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood_lab.chaos import publisher, subscriber
from sapwood_lab.chaos.judge import Heard, Published, Verdict, judge
from sapwood_lab.chaos.workload import publication, wish

WISH = wish(3)
DUE = [f"p0-{number}" for number in range(400) if WISH.accepts(number)]


def verdict(ids: list[str], *, may_miss: bool = False) -> Verdict:
    return judge({"p0": Published(400, 420)}, {"durable3": Heard(WISH, ids, may_miss)})


@pytest.mark.parametrize("place", range(16))
def test_the_oracle_wants_what_the_filter_accepts(place: int) -> None:
    asked = wish(place)
    wanted = parse_filter(asked.filter)
    for number in range(200):
        content = publication("p", number).record
        assert content is not None
        assert asked.accepts(number) == wanted.matches(content)


def test_what_is_due_and_came_once_in_order_is_right() -> None:
    found = verdict(DUE)
    assert found.is_right
    assert (found.due, found.delivered) == (len(DUE), len(DUE))
    more = next(f"p0-{number}" for number in range(400, 420) if WISH.accepts(number))
    assert verdict([*DUE, more]).is_right, "what was in doubt may arrive"


def test_each_fault_is_found() -> None:
    assert verdict(DUE[:-1]).lost == 1
    assert verdict([*DUE, DUE[-1]]).duplicated == 1
    assert verdict([*DUE[:2], DUE[3], DUE[2], *DUE[4:]]).reordered == 1
    refused = next(number for number in range(400) if not WISH.accepts(number))
    assert verdict([*DUE, f"p0-{refused}"]).unexpected == 1
    assert verdict([*DUE, "p0-420"]).unexpected == 1
    assert verdict([*DUE, "p9-3"]).unexpected == 1
    missed = verdict(DUE[1:], may_miss=True)
    assert missed.is_right
    assert (missed.lost, missed.missed) == (0, 1)


def test_files_are_read_up_to_the_half_of_a_line(tmp_path: Path) -> None:
    log = publisher.log_of(tmp_path, "p0")
    assert publisher.read(log) == Published(0, 0)
    log.write_text("tried 256\nrefused 7\naccepted 256\ntried 51")
    assert publisher.read(log) == Published(256, 256, frozenset({7}))
    heard = subscriber.log_of(tmp_path, "d")
    heard.write_text("p0-1\np0-2\np0-")
    assert subscriber.read(heard) == ["p0-1", "p0-2"]
    assert Published(8, 8, frozenset({3})).due(wish(3)) == []
