"""Faults of messages in flight and of timers: what they do, and how they are written."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.messages import (
    Confirm,
    Message,
    OnTree,
    Publish,
    Stamped,
    Subscribe,
    Unsubscribe,
    UpkeepNote,
)
from sapwood.simulation.faults import decode_faults
from sapwood.simulation.network import Arrival
from sapwood.simulation.scenario import Scenario, Step
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.tampering import How, StallTimer, Tamper, Tampering
from sapwood.simulation.world import World
from tests.simulation.helpers import publish, subscribe
from tests.simulation.leasing import leases_of, leasing, line

LINE = parse_topology("line:3", lambda _: 0)
WANTED = parse_filter("x > 1")


def arrival(message: Message) -> Arrival:
    return Arrival("r1", "r2", message, 0, stamp=None, sent_s=0.0)  # type: ignore[arg-type]


def test_messages_are_dropped_on_one_link_for_a_time() -> None:
    tampering, said = Tampering(1), Unsubscribe("k")
    tampering.begin(Tamper(2.0, ("r2", "r1")), 1.0)
    assert tampering.passed(arrival(said), 1.5) is None
    elsewhere = Arrival("r2", "r3", said, 0, stamp=None, sent_s=0.0)  # type: ignore[arg-type]
    assert tampering.passed(elsewhere, 1.5) == said
    assert tampering.passed(arrival(said), 3.0) == said
    tampering.begin(Tamper(2.0), 4.0)
    tampering.end()
    assert tampering.is_over(4.0)


def test_what_is_altered_stays_of_its_class_and_publications_stay_as_they_are() -> None:
    tampering = Tampering(1)
    tampering.begin(Tamper(9.0, how=How.ALTER), 0.0)
    publication = Publish("r1", 1, Publication("p", {"x": 1}))
    said: list[Message] = [
        Subscribe("k", WANTED, 3),
        Confirm("k", 3),
        UpkeepNote(b"note"),
        UpkeepNote(b""),
        OnTree("r1", 1, Unsubscribe("k")),
        Stamped(b"7", Unsubscribe("k")),
    ]
    for message in said:
        found = [tampering.passed(arrival(message), 1.0) for _ in range(40)]
        assert {type(one) for one in found} == {type(message)}
        assert any(one != message for one in found) or message == UpkeepNote(b"")
    assert tampering.passed(arrival(publication), 1.0) == publication
    stamped = tampering.passed(arrival(Stamped(b"7", publication)), 1.0)
    assert isinstance(stamped, Stamped)
    assert stamped.message == publication
    assert stamped.stamp != b"7"


def test_a_timer_that_stalls_is_heard_of_later() -> None:
    world = World(line(2, 0.01), leasing(), calm_s=1.0)
    subscribe(world, "r1", "s", "x > 0")
    world.tampering.begin(StallTimer("r1", 50.0), 0.0)
    world.run_until(49.0)
    assert leases_of(world, "r2").counters()["leases_renewed"] == 0
    world.run_until(51.0)
    assert leases_of(world, "r2").counters()["leases_renewed"] == 1
    publish(world, "r2", "p", x=1)
    world.run_until(52.0)
    assert len(world.history.deliveries) == 1


def test_both_are_written_in_files_of_faults_and_in_scenarios() -> None:
    document = {
        "tampering": [
            {"start": 1.0, "seconds": 2.0},
            {"between": ["r1", "r2"], "seconds": 1.0, "share": 0.5, "how": "alter"},
        ],
        "timer": [{"router": "r3", "start": 3.0, "seconds": 9.0}],
    }
    timed = decode_faults(document, LINE, seed=1)
    assert timed == [
        (0.0, Tamper(1.0, ("r1", "r2"), 0.5, How.ALTER)),
        (1.0, Tamper(2.0)),
        (3.0, StallTimer("r3", 9.0)),
    ]
    scenario = Scenario("s", LINE, tuple(Step(action) for _, action in timed))
    assert decode_scenario(encode_scenario(scenario)) == scenario


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"tampering": [{"seconds": 1.0, "share": 2.0}]}, InputError),
        ({"tampering": [{"seconds": 1.0, "how": "lose"}]}, UnknownNameError),
        ({"tampering": [{"seconds": 1.0, "between": ["r1", "r3"]}]}, InputError),
        ({"timer": [{"router": "r9", "seconds": 1.0}]}, InputError),
    ],
)
def test_what_cannot_be_is_refused(entry: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_faults(entry, LINE, seed=1)
    with pytest.raises(InputError, match="share"):
        Tamper(1.0, share=-0.5)
