"""Commands of other distributions: found where these are installed, explained where not."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner

from sapwood.cli import contributed, engines
from sapwood.cli.contributed import COMMANDS, contributed_command, contributing_packages
from sapwood.cli.main import main
from sapwood.errors import InvariantError


def install(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    """Let these be the entry points of all that is installed."""

    def entry_points(**parameters: str) -> EntryPoints:
        select: Any = EntryPoints(points).select
        return cast("EntryPoints", select(**parameters))

    monkeypatch.setattr(contributed, "entry_points", entry_points)


def test_an_installed_command_is_the_one_that_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, EntryPoint("bench", "sapwood.cli.engines:command", COMMANDS))
    command = contributed_command(COMMANDS, "bench", "Measure.")
    assert command is engines.command
    assert contributing_packages() == ("sapwood",)


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "records", "--sizes", "10"),
        ("experiment", "x"),
        ("pipeline", "sweep", "--out", "x"),
    ],
)
def test_an_absent_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    install(monkeypatch)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert (
        "is part of sapwood-lab, which is not installed: run pip install sapwood-lab" in done.output
    )


@pytest.mark.parametrize("words", [("bench", "--help"), ("pipeline", "sweep", "--help")])
def test_the_help_of_an_absent_command_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    install(monkeypatch)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert "sapwood-lab, which is not installed" in " ".join(done.output.split())


def test_an_entry_point_that_is_no_command_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, EntryPoint("bench", "sapwood.errors:SapwoodError", COMMANDS))
    with pytest.raises(InvariantError, match="is no command"):
        contributed_command(COMMANDS, "bench", "Measure.")


def test_the_lab_contributes_its_commands() -> None:
    assert isinstance(contributed_command(COMMANDS, "experiment", ""), click.Command)
    assert contributing_packages() == ("sapwood_lab",)
