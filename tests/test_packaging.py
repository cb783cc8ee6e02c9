"""The files that go with a release: their options and versions are those of commands and pins."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from sapwood.cli.broker import command as broker
from sapwood.matching.compiling import places

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = (ROOT / "packaging" / "Containerfile").read_text("utf-8")
SERVICE = ROOT / "packaging" / "sapwood.service"
INSTALLATION = (ROOT / "docs" / "installation.md").read_text("utf-8")


def options(command: click.Command) -> set[str]:
    return {word for parameter in command.params for word in parameter.opts}


def test_the_container_starts_a_broker_with_options_that_there_are() -> None:
    (words,) = re.findall(r"^CMD \[(.*)\]$", CONTAINER, re.MULTILINE)
    given = shlex.split(words.replace(",", " "))
    assert given[0] == "broker"
    assert {word for word in given if word.startswith("--")} <= options(broker)
    (written,) = re.findall(r"sapwood (broker [^#]*?)\n\n", CONTAINER.replace("\\\n", ""))
    assert {word for word in written.split() if word.startswith("--")} <= options(broker)
    assert given[-1].endswith(written.split()[-1])


def test_the_service_starts_and_checks_a_broker_with_options_that_there_are() -> None:
    lines = re.findall(r"^Exec\w+=\S+ broker (.*)$", SERVICE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        assert {word for word in line.split() if word.startswith("--")} <= options(broker)
        assert "--config /etc/sapwood/sapwood.toml" in line
    assert "--write-config /etc/sapwood/sapwood.toml" in INSTALLATION


def test_the_service_names_the_variable_of_the_kernels_folder() -> None:
    found = dict(re.findall(r"^Environment=(\w+)=(.*)$", SERVICE.read_text("utf-8"), re.MULTILINE))
    assert found[places.VARIABLES[0]] == "%C/sapwood"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_service() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(SERVICE)], capture_output=True, text=True, check=False
    )
    # The command is not installed here, and neither is its manual page.
    said = [
        line
        for line in done.stderr.splitlines()
        if "sapwood.service" in line and "ommand" not in line
    ]
    assert not said


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)==([^\s;\\]+)", text, re.MULTILINE))


def test_a_container_has_the_versions_that_are_tested() -> None:
    tested, shipped = pins("lock.txt"), pins("broker.txt")
    assert {"numba", "msgspec", "cryptography", "uvicorn"} <= shipped.keys()
    assert shipped.items() <= tested.items()
    assert "pytest" not in shipped
