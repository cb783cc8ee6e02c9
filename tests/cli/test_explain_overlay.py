"""`sapwood explain --broker`: brokers say what they know."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.client.blocking import connect
from tests.broker.helpers import broker_in_a_thread

network = pytest.mark.network


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


@network
def test_a_person_and_a_program_are_told_of_a_subscription_at_a_broker() -> None:
    with (
        broker_in_a_thread(name="hub") as address,
        connect(address, name="desk") as client,
    ):
        client.subscribe("price > 10", "s1")
        asked = ("--broker", address, "--subscription", "price > 10")
        record = ("--publication", '{"price": 5}')
        told = run(*asked, *record)
        assert told.exit_code == 0, told.output
        assert told.stdout == (
            "subscription s1 of client desk at hub: price > 10\n"
            "publication given from hub would not come to it\n"
            "  fails: price > 10\n"
            "    price > 10: 5\n"
            "way: hub\n"
        )
        found = json.loads(run(*asked, *record, "--json").stdout)
        assert (found["brokers"], found["all"], found["unreached"]) == (["hub"], True, {})
        (one,) = found["subscriptions"]
        assert (one["client"], one["id"], one["connected"]) == ("desk", "s1", True)
        assert not one["match"]["matches"]
        assert one["ways"][0]["path"] == ["hub"]
        assert "s1 of client desk" in run("--broker", address, "--client", "desk").stdout
        nobody = run("--broker", address, "--subscription", "price > 11")
        assert nobody.exit_code == 2
        assert "no client of hub has such a subscription" in nobody.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--broker", "localhost:1"), "--subscription, --client or --durable"),
        (("--publication", "{}", "--subscription", "a", "--follow"), "add --broker"),
        (("--publication", "{}", "--subscription", "a", "--from", "r1"), "add --broker"),
        (("--client", "desk"), "add --broker"),
        (("--publication", "{}"), "give both"),
        (("--subscription", "a"), "give both"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
