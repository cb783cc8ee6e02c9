"""`sapwood broker`."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
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
        (("--durability", "often"), "--durability often: it takes fsync, interval:MS"),
    ],
)
def test_a_bad_option_is_named_and_ends_with_status_2(
    arguments: tuple[str, ...], said: str
) -> None:
    result = CliRunner().invoke(main, ["broker", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.network
def test_a_port_in_use_ends_with_one_clear_line_and_status_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            (sys.executable, "-m", "sapwood", "broker", "--listen", address),
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sapwood: --listen {address}: the port is in use; stop what")


@pytest.mark.network
def test_a_reader_of_its_lines_that_goes_away_does_not_stop_a_broker() -> None:
    with subprocess.Popen(
        (sys.executable, "-m", "sapwood", "broker", "--listen", "127.0.0.1:0", "--name", "r1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[2]
        process.stdout.close()
        # A second broker makes the first say that a link is up, to nobody.
        with subprocess.Popen(
            (
                *(sys.executable, "-m", "sapwood", "broker", "--listen", "127.0.0.1:0"),
                *("--name", "r2", "--peer", address),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert [other.stdout.readline().split()[0] for _ in range(2)] == ["listening", "link"]
            other.terminate()
            assert other.wait(30) == 0
        process.terminate()
        assert process.stderr is not None
        assert '"stopped"' in process.stderr.read()
        assert process.wait(30) == 0
