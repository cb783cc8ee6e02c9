"""The table of commands and how commands end."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import MappingProxyType

import click
import pytest
from click.testing import CliRunner, Result

import sapwood
from sapwood.cli import main as main_module
from sapwood.cli.main import COMMANDS, Entry, main


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_in_its_own_help_what_the_table_says(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.get_short_help_str(limit=200) == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_help(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: sapwood {name} ")


def test_help_lists_all_commands_in_the_order_of_the_table() -> None:
    shown = CliRunner().invoke(main, ["-h"], terminal_width=200)
    listed = shown.output.partition("Commands:\n")[2].splitlines()
    assert [line.split(None, 1) for line in listed] == [
        [name, entry.summary] for name, entry in COMMANDS.items()
    ]


@pytest.mark.parametrize("name", ["durable", "grants", "identity", "kafka", "pipeline"])
def test_help_of_a_group_lists_its_commands_with_whole_summaries(name: str) -> None:
    group = main.get_command(click.Context(main), name)
    assert isinstance(group, click.Group)
    shown = CliRunner().invoke(main, [name, "--help"]).output.partition("Commands:\n")[2]
    context = click.Context(group)
    for one in group.list_commands(context):
        command = group.get_command(context, one)
        assert command is not None
        assert f"{one} {command.get_short_help_str(1_000)}" in " ".join(shown.split())


def test_version_is_that_of_the_project() -> None:
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    version = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["version"]
    assert sapwood.__version__ == version
    assert CliRunner().invoke(main, ["--version"]).output == f"sapwood {version}\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["mach"])
    assert result.exit_code == 2
    assert "mach" in result.stderr


@pytest.fixture
def end(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The command `end`, in place of all others."""
    table = MappingProxyType({"end": Entry("tests.cli.endings", "End in the way asked for.")})
    monkeypatch.setattr(main_module, "COMMANDS", table)
    return monkeypatch


def run(ending: str) -> Result:
    return CliRunner().invoke(main, ["end", ending])


@pytest.mark.usefixtures("end")
@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_command_ends_with_the_status_it_asks_for(status: int) -> None:
    result = run(str(status))
    assert (result.exit_code, result.output) == (status, "")


@pytest.mark.usefixtures("end")
@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("input", "sapwood: subs.jsonl: is a folder; name a file in it\n"),
        ("environment", "sapwood: no Java\n"),
        ("click", "Error: could not open\n"),
        ("disk", "sapwood: out.jsonl: No space left on device\n"),
        ("device", "sapwood: gone\n"),
    ],
)
def test_what_could_not_be_done_ends_with_one_message_and_status_2(ending: str, said: str) -> None:
    result = run(ending)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", said)


@pytest.mark.usefixtures("end")
def test_a_usage_error_points_to_the_help_of_its_command() -> None:
    result = run("usage")
    assert result.exit_code == 2
    assert "Error: only one of the two\n" in result.stderr


@pytest.mark.usefixtures("end")
def test_the_keyboard_ends_a_command_with_status_130() -> None:
    result = run("keyboard")
    assert (result.exit_code, result.output) == (130, "")


@pytest.mark.usefixtures("end")
@pytest.mark.parametrize("ending", ["invariant", "defect"])
def test_a_defect_keeps_its_traceback_and_ends_with_status_2(ending: str) -> None:
    result = run(ending)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "This is a defect of sapwood" in result.stderr


def test_a_reader_that_goes_away_ends_a_command_quietly_with_status_141() -> None:
    read, write = os.pipe()
    os.close(read)
    code = (
        "import sys\n"
        "from types import MappingProxyType\n"
        "from sapwood.cli import main\n"
        "main.COMMANDS = MappingProxyType({'end': main.Entry('tests.cli.endings', '')})\n"
        "sys.stdout.write('not yet flushed')\n"
        "main.main(['end', 'pipe'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["covers", "a = 1", "a = 2"]])
@pytest.mark.one_in(4)
def test_a_full_device_ends_a_command_with_one_message_and_status_2(
    arguments: list[str], *, buffered: bool
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sapwood", *arguments],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"},
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapwood: ")
    assert line.endswith("No space left on device")
    assert ("standard output: " in line) is buffered


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize(
    ("ending", "said"),
    [("0", "standard output: No space"), ("1", "standard output: No space"), ("input", "folder")],
)
def test_output_that_cannot_be_flushed_at_the_end_is_no_second_failure(
    ending: str, said: str
) -> None:
    code = (
        "import sys\n"
        "from types import MappingProxyType\n"
        "from sapwood.cli import main\n"
        "main.COMMANDS = MappingProxyType({'end': main.Entry('tests.cli.endings', '')})\n"
        "sys.stdout.write('not yet flushed')\n"
        "main.main(['end', sys.argv[1]])"
    )
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, ending],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line


def test_python_m_sapwood_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout == f"sapwood {sapwood.__version__}\n"
