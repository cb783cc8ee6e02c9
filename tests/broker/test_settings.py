"""Settings of a broker: an error names the option."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.broker.settings import BrokerSettings
from sapwood.errors import InputError, UnknownNameError
from sapwood.matching.engine_names import Engines
from sapwood.routing.upkeep.failover.choice import MakeFailover
from sapwood.wire.address import Address
from tests.broker.helpers import settings

FAILOVER = "failover+covering"
HUB, NORTH = Address("hub", 1), Address("north", 2)


def test_settings_have_defaults() -> None:
    defaults = BrokerSettings()
    assert defaults.listen == Address("127.0.0.1", 7411)
    assert (defaults.protocol, defaults.peers, defaults.name) == ("covering", (), None)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"name": "two words"}, "--name: 'two words' is no name for a broker"),
        ({"frame_bytes_max": 524_287}, "--frame-bytes-max is 524287; it takes 524,288 to"),
        ({"frame_bytes_max": 2**40}, "--frame-bytes-max"),
        ({"greeting_s": 0.0}, "--greeting-s is 0.0; it takes 0.05 to 86,400.0"),
        ({"keepalive_idle_s": float("nan")}, "--keepalive-s is nan"),
        ({"keepalive_missed_max": 0}, "--keepalive-missed"),
        ({"detector": "hunch"}, "--detector: 'hunch' is no failure detector"),
        ({"detector": "timeout:10"}, "asked for a sign of life after 15 s"),
        ({"outgoing_bytes_max": 2_097_151}, "--outgoing-bytes-max is 2097151; it takes 2,097,152"),
        ({"link_high_water_bytes": 1}, "--link-high-water-bytes"),
        ({"link_outgoing_bytes_max": 8_388_607}, "--link-outgoing-bytes-max"),
        ({"connections_max": 0}, "--connections-max"),
        ({"sessions_remembered_max": -1}, "--sessions-remembered-max"),
        ({"backups": (HUB,)}, "--backup: protocol 'covering' knows no backups; put failover"),
        ({"backups": (HUB,), "protocol": FAILOVER}, "--backup: there is no --peer"),
        ({"peers": (HUB, NORTH), "protocol": FAILOVER}, "--peer: under failover a broker has one"),
        ({"peers": (HUB,), "backups": (HUB,), "protocol": FAILOVER}, "--backup: hub:1 is this bro"),
        (
            {"peers": (HUB,), "backups": (NORTH, NORTH), "protocol": FAILOVER},
            "--backup: north:2 is this broker itself, its peer, or there twice",
        ),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_option(given: dict[str, Any], named: str) -> None:
    name = given.pop("name", "r1")
    with pytest.raises(InputError) as refused:
        settings(name, **given)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"protocol": "coverin"}, "no protocol is called 'coverin'; did you mean 'covering'?"),
        ({"protocol": "covering:flat-1"}, "no covering is called 'flat-1'"),
        (
            {"engines": Engines("countin")},
            "no engine is called 'countin'; did you mean 'counting'?",
        ),
    ],
)
def test_a_name_that_no_catalogue_has_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UnknownNameError) as refused:
        settings(**given)
    assert named in str(refused.value)


def test_the_plan_for_a_broker_has_its_backups_and_where_it_listens() -> None:
    given = settings("shop", protocol=FAILOVER, peers=(HUB,), backups=(NORTH,))
    make = given.planned("shop", Address("shop", 3)).upkeep.make
    assert isinstance(make, MakeFailover)
    assert make.plans["shop"].backups == (("north:2", "north:2"),)
    assert make.plans["shop"].address == "shop:3"
    assert settings("shop").planned("shop", HUB).name == "covering"


def test_only_brokers_that_find_their_links_join() -> None:
    with pytest.raises(InputError, match="--join: under protocol 'covering' links are given"):
        settings(joins=(HUB,))
    assert settings(protocol="irbr", joins=(HUB, NORTH), peers=(NORTH,)).dialed == (NORTH, HUB)
