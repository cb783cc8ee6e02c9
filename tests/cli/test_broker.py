"""`sapwood broker`."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sapwood.cli.broker import command as broker
from sapwood.cli.main import main
from tests.forked import ForkedCommand
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "nonsense:port"), "--listen: 'nonsense:port': the port is a number"),
        (("--peer", "host:0"), "--peer: 'host:0': port 0 means any free port"),
        (("--name", "two words"), "--name: 'two words' is no name for a broker"),
        (("--protocol", "none"), "no protocol is called 'none'"),
        (("--engine", "none"), "no engine is called 'none'"),
        (("--frame-bytes-max", "1"), "--frame-bytes-max is 1; it takes"),
        (("--keepalive-s", "0"), "--keepalive-s is 0.0; it takes"),
        (("--keep-bytes", "1"), "--keep-bytes is 1; it takes"),
        (("--keep-age", "0"), "--keep-age is 0.0; it takes"),
        (("--connections-max", "many"), "'many' is not what it takes: a whole number"),
        (("--log-level", "loud"), "it takes: debug, info, warning or error"),
        (("--tls-cert", "cert"), "--tls-cert: there is no --tls-key"),
        (("--token-file", "/dev/null"), "--token-file /dev/null: its first line is empty"),
        (("--durability", "often"), "--durability often: it takes fsync, interval:MS"),
    ],
)
def test_a_bad_option_is_named_and_ends_with_status_2(
    arguments: tuple[str, ...], said: str
) -> None:
    result = CliRunner().invoke(main, ["broker", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr


def run(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["broker", *map(str, arguments)], env=env)


def test_a_written_configuration_is_read_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "sapwood.toml"
    assert run("--name", "paris", "--strict", "--write-config", file).exit_code == 0
    text = file.read_text()
    assert 'name = "paris"\n' in text
    assert "\nstrict = true\n" in text
    assert "\n#peer = [" in text
    told = json.loads(run("--config", file, "--check", "--json", "--no-strict").stdout)
    assert told["options"]["name"]["value"] == "paris"
    assert told["options"]["strict"] == {"value": False, "from": "the command line"}
    assert told["options"]["keep_age"] == {"value": None, "from": "default"}
    again = run("--write-config", file)
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert file.read_text() == text
    assert run("--config", file, "--write-config").stdout == text
    assert run("--write-config", tmp_path / "none" / "file").exit_code == 2


def test_a_check_says_what_a_broker_would_do_and_where_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "sapwood.toml"
    file.write_text('name = "paris"\n')
    env = {"SAPWOOD_BROKER_KEEP_BITES": "1", "SAPWOOD_BROKER_PROTOCOL": "simple"}
    done = run("--config", file, "--check", env=env)
    assert done.exit_code == 0, done.stderr
    assert f'"paris" ({file}, line 1)' in done.stdout
    assert '"simple" (the environment)' in done.stdout
    assert re.search(r"^routes by +simple$", done.stdout, re.MULTILINE)
    assert "warning: SAPWOOD_BROKER_KEEP_BITES: is no option" in done.stderr
    assert done.stderr.endswith("it would start\n")


def test_a_check_fails_by_what_the_broker_would_fail_by(tmp_path: Path) -> None:
    file = tmp_path / "sapwood.toml"
    file.write_text("keep_bytes = 1\n")
    done = run("--config", file, "--check")
    assert done.exit_code == 2
    assert f"{file}, line 1: keep_bytes is 1; it takes" in done.stderr
    assert done.stderr.endswith("it would not start\n")
    file.write_text('identities = "none.toml"\nkeep_bites = 1')
    (said,) = json.loads(run("--config", file, "--check", "--json").stdout)["problems"]
    assert "line 2: keep_bites" in said
    file.write_text('tls_cert = "none"\ntls_key = "none"\nidentities = "none.toml"')
    found = json.loads(run("--config", file, "--check", "--json").stdout)["problems"]
    assert len(found) == 2
    assert found[1].startswith(f"{file}, line 1: tls_cert ")


def test_an_error_that_shows_when_it_begins_is_said_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sapwood.toml"
    file.write_text('listen = "127.0.0.1:0"\n\ntls_cert = "none"\ntls_key = "none"')
    done = run("--config", file)
    assert done.exit_code == 2
    assert f"{file}, line 3: tls_cert {tmp_path / 'none'} and tls_key" in done.stderr


def test_a_shell_completes_paths_and_names() -> None:
    types = {one.name: one.type for one in broker.params}
    context = click.Context(broker)
    complete = types["log_level"].shell_complete(context, broker.params[0], "w")
    assert [one.value for one in complete] == ["warning"]
    (path,) = types["data"].shell_complete(context, broker.params[0], "/v")
    assert (path.value, path.type) == ("/v", "dir")
    assert types["name"].shell_complete(context, broker.params[0], "") == []


@pytest.mark.network
def test_a_port_in_use_ends_with_one_clear_line_and_status_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with ForkedCommand(("broker", "--listen", address)) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"sapwood: --listen {address}: the port is in use; stop what")


@pytest.mark.network
def test_a_reader_of_its_lines_that_goes_away_does_not_stop_a_broker(tmp_path: Path) -> None:
    file = tmp_path / "sapwood.toml"
    file.write_text('listen = "127.0.0.1:0"\nname = "r1"\n')
    with subprocess.Popen(
        (sys.executable, "-m", "sapwood", "broker", "--config", str(file)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[2]
        process.stdout.close()
        # A second broker makes the first say that a link is up, to nobody.
        options = ("--listen", "127.0.0.1:0", "--name", "r2", "--peer", address)
        with ForkedCommand(("broker", *options)) as other:
            assert [other.stdout.readline().split()[0] for _ in range(2)] == ["listening", "link"]
            other.send_signal(signal.SIGTERM)
            assert other.wait(30) == 0
        file.write_text('listen = "127.0.0.1:0"\nname = "other"\nstrict = true\n')
        process.send_signal(signal.SIGHUP)
        process.terminate()
        assert process.stderr is not None
        said = {line["event"]: line for line in map(json.loads, process.stderr)}
        assert said["option changed"]["option"] == "strict"
        assert said["option needs a restart"]["asked"] == "other"
        assert "stopped" in said
        assert process.wait(30) == 0
