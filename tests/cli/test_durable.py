"""`sapwood durable`, and what `subscribe` and `publish` do durably."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.client.blocking import connect
from sapwood.testing import BrokerProcesses
from tests.forked import ForkedCommand, forked_brokers, forking
from tests.patience import PATIENCE_S

__all__ = ("forked_brokers",)

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("forked_brokers")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    options = ("--durability", "none")
    with (
        forking(),
        BrokerProcesses(("hub",), (), "recover+covering", options=options, data=data) as overlay,
    ):
        yield overlay.addresses["hub"]


def run(*arguments: str, **more: str) -> Result:
    return CliRunner().invoke(main, arguments, **more)  # type: ignore[arg-type]


def subscribe(address: str, *arguments: str) -> list[int]:
    """The numbers that are printed, of records with one attribute."""
    with ForkedCommand(("subscribe", "--broker", address, "--json", *arguments)) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return [json.loads(line)["attributes"]["x"] for line in out.splitlines()]


def publish(address: str, *numbers: int) -> None:
    with connect(address) as client:
        client.publish_many({"x": number} for number in numbers)


def test_what_was_printed_is_not_printed_again(address: str) -> None:
    with connect(address) as client:
        client.subscribe("x > 0", durable="printed")
    publish(address, 0, 1, 2, 3, 4)
    assert subscribe(address, "--durable", "printed", "--count", "2") == [1, 2]
    assert subscribe(address, "--durable", "printed", "--count", "2") == [3, 4]
    shown = json.loads(run("durable", "show", address, "printed", "--json").stdout)
    assert (shown["waiting"], shown["filter"], shown["consumers"]) == (0, "x > 0", [])


def test_since_all_prints_what_was_published_before(address: str) -> None:
    publish(address, 1001, 1002)
    assert subscribe(address, "x > 1000", "--since", "all", "--count", "2") == [1001, 1002]


def test_bounds_are_given_with_the_name_and_shown(address: str) -> None:
    options = ("--max-count", "2", "--max-age-s", "60", "--overflow", "newest")
    publish(address, 2001)
    more = ("--since", "all", "--count", "1", "--acknowledge-s", "5", "--max-bytes", "100000")
    assert subscribe(address, "x > 2000", "--durable", "bound", *options, *more) == [2001]
    shown = json.loads(run("durable", "show", address, "bound", "--json").stdout)
    bounds = ("max_count", "max_bytes", "max_age_s", "overflow", "acknowledge_within_s")
    assert [shown[name] for name in bounds] == [2, 100000, 60.0, "newest", 5.0]
    assert "max count" in run("durable", "show", address, "bound").stdout


def test_what_nobody_acknowledges_goes_to_the_named_subscription(address: str) -> None:
    with connect(address) as client:
        client.subscribe("false", durable="bad-ones")
        orders = client.subscribe(
            "x > 5000", durable="orders", max_attempts=1, dead_letter="bad-ones"
        )
        client.publish({"x": 5001})
        assert next(iter(orders)).attributes == {"x": 5001}
    assert subscribe(address, "--durable", "bad-ones", "--count", "1") == [5001]
    more = ("--max-attempts", "3", "--dead-letter", "bad-ones", "--count", "1")
    publish(address, 5002)
    assert subscribe(address, "--durable", "orders", *more) == [5002]
    shown = json.loads(run("durable", "show", address, "orders", "--json").stdout)
    assert (shown["max_attempts"], shown["dead_letter"], shown["dropped"]) == (3, "bad-ones", 0)
    refused = run("subscribe", "--broker", address, "--durable", "orders", "--dead-letter", "none")
    assert refused.exit_code == 2
    assert "there is no durable subscription 'none' here" in refused.stderr


def test_they_are_listed_and_removed(address: str) -> None:
    with connect(address) as client:
        client.subscribe("x > 3000", durable="listed")
    publish(address, 3001)
    listed = json.loads(run("durable", "list", address, "--json").stdout)
    (one,) = (state for state in listed if state["name"] == "listed")
    assert (one["waiting"], one["state"]) == (1, "in force")
    assert "listed" in run("durable", "list", address).stdout
    removed = run("durable", "remove", address, "listed")
    assert (removed.exit_code, removed.stderr) == (0, f"removed listed at {address}\n")
    again = run("durable", "remove", address, "listed")
    assert again.exit_code == 2
    assert "there is no durable subscription 'listed' here" in again.stderr


def test_a_file_is_published_once_by_all_runs_with_a_state(address: str, tmp_path: Path) -> None:
    file, state = tmp_path / "publications.jsonl", tmp_path / "state"
    lines = [json.dumps({"id": f"once-{x}", "attributes": {"x": 4000 + x}}) for x in range(5)]
    arguments = ("publish", str(file), "--broker", address, "--state", str(state))
    with connect(address) as client:
        client.subscribe("x >= 4000 and x < 5000", durable="once")
    file.write_text("\n".join(lines[:3]))
    assert "3 publications accepted" in run(*arguments).stderr
    file.write_text("\n".join(lines))
    again = run(*arguments).stderr
    assert "3 publications published by earlier runs" in again
    assert "2 publications accepted" in again
    assert subscribe(address, "--durable", "once", "--count", "5") == list(range(4000, 4005))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--file", "-", "--durable", "x"), "--durable is for one FILTER"),
        ((), "give a FILTER for records or an --xpath"),
        (("--since", "all"), "give a FILTER for records or an --xpath"),
        (("x > 1", "--overflow", "all"), "'oldest', 'newest'"),
    ],
)
def test_what_does_not_fit_together_is_said(arguments: tuple[str, ...], words: str) -> None:
    result = run("subscribe", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
