"""`sapwood subscribe`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.client.blocking import connect
from sapwood.model.publication import Publication
from sapwood.testing.overlay import BrokerProcesses
from tests.client.helpers import free_address
from tests.forked import ForkedCommand, forked_brokers, forking
from tests.patience import PATIENCE_S

__all__ = ("forked_brokers",)

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("forked_brokers")]


@pytest.fixture(scope="module")
def overlay() -> Iterator[BrokerProcesses]:
    with forking(), BrokerProcesses(("r1", "r2"), (("r1", "r2"),)) as overlay:
        yield overlay


@contextmanager
def subscribing(
    address: str, *arguments: str, by_name: bool = False
) -> Iterator[subprocess.Popen[str] | ForkedCommand]:
    """The command, once it has said that the subscription is in force.

    `by_name`: in an interpreter of its own, as users start it, where streams and signals matter.
    """
    command = ("subscribe", "--broker", address, *arguments)
    with by_its_name(command) if by_name else ForkedCommand(command) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith("subscribed to "), said + process.stderr.read()
            yield process
        finally:
            process.kill()


def by_its_name(command: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-m", "sapwood", *command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_documents_are_printed_as_they_were_published(overlay: BrokerProcesses) -> None:
    arguments = ("--xpath", "//b[c > 1]", "--json", "--count", "2")
    with subscribing(overlay.addresses["r1"], *arguments) as process:
        with connect(overlay.addresses["r2"]) as client:
            client.publish(b"<a><b><c>1</c></b></a>")
            client.publish("<a><b><c>2</c>é</b></a>".encode(), "p2")
            client.publish(Publication("p3", {"x": 1}, b"<b><c>3</c></b>"))
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "p2", "subscriptions": ["s1"], "document": "<a><b><c>2</c>é</b></a>"},
        {
            "id": "p3",
            "subscriptions": ["s1"],
            "attributes": {"x": 1},
            "document": "<b><c>3</c></b>",
        },
    ]


@pytest.mark.parametrize(
    "arguments", [(), ("a > 1", "--xpath", "//a"), ("a", "--namespace", "p=u")]
)
def test_what_is_asked_for_must_be_one_thing(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["subscribe", *arguments])
    assert result.exit_code == 2
    assert "FILTER" in result.stderr


def test_a_filter_that_accepts_nothing_is_said_to(overlay: BrokerProcesses) -> None:
    with subscribing(overlay.addresses["r1"], "price between 5 and 1") as process:
        assert process.stderr is not None
        said = process.stderr.readline()
    assert said == "no record can match price between 5 and 1: nothing will be delivered\n"


def test_publications_are_printed_as_json_until_there_are_enough(overlay: BrokerProcesses) -> None:
    arguments = ("a > 1", "--json", "--count", "2", "--id", "mine")
    with subscribing(overlay.addresses["r1"], *arguments) as process:
        with connect(overlay.addresses["r2"]) as client:
            client.publish_many([{"a": 1}, {"a": 2}])
            client.publish({"a": 3, "tags": [1, None]}, "p3")
            client.publish({"a": 4})
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["attributes"], first["subscriptions"]) == ({"a": 2}, ["mine"])
    assert second == {
        "id": "p3",
        "attributes": {"a": 3, "tags": [1, None]},
        "subscriptions": ["mine"],
    }


def test_each_line_is_there_as_soon_as_its_publication_is(overlay: BrokerProcesses) -> None:
    address = overlay.addresses["r1"]
    with subscribing(address, "exists a", by_name=True) as process, connect(address) as client:
        assert process.stdout is not None
        client.publish({"a": "x\ny"}, "p1")
        assert process.stdout.readline() == 'p1 {"a":"x\\ny"}\n'
        client.publish({"a": 1}, "two\nlines")
        assert process.stdout.readline() == "'two\\nlines' {\"a\":1}\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out, err) == (0, "", "")


def test_a_reader_that_goes_away_ends_the_command_quietly(overlay: BrokerProcesses) -> None:
    address = overlay.addresses["r1"]
    with subscribing(address, "exists a", by_name=True) as process, connect(address) as client:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        client.publish({"a": 1})
        assert (process.wait(60), process.stderr.read()) == (141, "")


def test_a_broker_that_stops_ends_the_command_with_one_clear_line() -> None:
    with BrokerProcesses(("r1",), ()) as own:
        with subscribing(own.addresses["r1"], "exists a") as process:
            own.stop("r1")
            out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out) == (2, "")
        (line,) = err.splitlines()
        assert line.endswith("was lost: the broker is shutting down")


def test_a_command_that_may_reconnect_goes_on_with_the_next_broker() -> None:
    arguments = ("exists a", "--reconnect", "--count", "1")
    with (
        BrokerProcesses(("r1",), ()) as own,
        subscribing(own.addresses["r1"], *arguments) as process,
    ):
        own.restart("r1")
        with connect(own.addresses["r1"]) as client:
            while process.poll() is None:  # until the subscription is there again
                client.publish({"a": 1}, "p1")
        out, err = process.communicate(timeout=PATIENCE_S)
        assert out == 'p1 {"a":1}\n'
        assert "is in force again; what was published meanwhile was not delivered" in err
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a >",), "at position"),
        (("a = 1", "--broker", "host:port"), "the port is a number"),
        (("a = 1", "--name", "two words"), "is no name for a client"),
    ],
)
def test_what_cannot_be_done_ends_with_the_reason(
    overlay: BrokerProcesses, arguments: tuple[str, ...], said: str
) -> None:
    result = CliRunner().invoke(
        main, ["subscribe", "--broker", overlay.addresses["r1"], *arguments]
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_broker_that_is_not_there_is_named_with_the_remedy() -> None:
    address = str(free_address())
    result = CliRunner().invoke(main, ["subscribe", "--broker", address, "a = 1"])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.endswith(f"Start one with: sapwood broker --listen {address}")


def test_a_file_of_subscriptions_is_in_force_but_for_its_bad_lines(
    overlay: BrokerProcesses, tmp_path: Path
) -> None:
    file = tmp_path / "subscriptions.jsonl"
    lines = (
        {"id": "s1", "filter": "x > 1"},
        {"id": "s2", "filter": "x >"},
        {"id": "s3", "xpath": "//b[c > 1]"},
        {"id": "s1", "filter": "x > 2"},
        {"id": "s4", "filter": "x > 2", "home": "r7"},
    )
    file.write_text("\n".join(map(json.dumps, lines)) + "\nno line\n")
    arguments = ("--file", str(file), "--json", "--count", "2")
    with subscribing(overlay.addresses["r1"], *arguments) as process:
        with connect(overlay.addresses["r2"]) as client:
            client.publish({"x": 1}, "p1")
            client.publish({"x": 3}, "p2")
            client.publish(b"<a><b><c>2</c></b></a>", "p3")
        out, err = process.communicate(timeout=PATIENCE_S)
    assert [(one["id"], one["subscriptions"]) for one in map(json.loads, out.splitlines())] == [
        ("p2", ["s1", "s4"]),
        ("p3", ["s3"]),
    ]
    assert process.returncode == 1
    assert err == ""
    rejected = [json.loads(line) for line in Path(f"{file}.rejected").read_text().splitlines()]
    assert {one["line"]: one["reason"].split(":")[0].split(";")[0] for one in rejected} == {
        2: "refused by the broker",
        4: "id 's1' was on line 1 already",
        6: rejected[1]["reason"].split(":")[0].split(";")[0],
    }


def test_a_file_has_the_filters_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.jsonl"
    file.write_text("")
    result = CliRunner().invoke(main, ["subscribe", "x > 1", "--file", str(file)])
    assert result.exit_code == 2
    assert "--file has the filters" in result.stderr


def test_a_file_with_a_filter_that_can_never_match(
    overlay: BrokerProcesses, tmp_path: Path
) -> None:
    file = tmp_path / "subscriptions.jsonl"
    lines = ({"id": "s1", "filter": "x > 1"}, {"id": "s2", "filter": "x > 3 and x < 2"})
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    with subscribing(overlay.addresses["r1"], "--file", str(file)) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(2)]
    assert said == [
        "1 subscription can never match:\n",
        "  line 2: x > 3 and x < 2 exclude each other\n",
    ]
    broker = ("--broker", str(overlay.addresses["r1"]))
    result = CliRunner().invoke(main, ["subscribe", *broker, "--file", str(file), "--strict"])
    assert result.exit_code == 2
    assert "line 2: can never match: x > 3 and x < 2 exclude each other" in result.stderr
