"""Commands of other distributions: found where these are installed, explained where not."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import click
import pytest
from click.testing import CliRunner

from sapwood.catalogue import Contribution, Finder
from sapwood.cli import contributed, engines, pipeline
from sapwood.cli.contributed import COMMANDS, contributed_command, contributing_packages
from sapwood.cli.main import main
from sapwood.errors import ContributionError


def offering(*points: EntryPoint) -> Finder:
    """Finds what these entry points contribute, as if nothing else were installed."""

    def find(group: str) -> tuple[Contribution, ...]:
        return tuple(
            Contribution(one.name, "extra 1.0", one.module.partition(".")[0], one.load)
            for one in points
            if one.group == group
        )

    return find


@pytest.fixture
def without_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is contributed, whatever is installed."""

    def absent(group: str, name: str, summary: str) -> click.Command:
        return contributed_command(group, name, summary, offering())

    monkeypatch.setattr(contributed, "contributed_command", absent)
    monkeypatch.setattr(pipeline, "contributed_command", absent)


def test_an_installed_command_is_the_one_that_is_called() -> None:
    find = offering(EntryPoint("bench", "sapwood.cli.engines:command", COMMANDS))
    command = contributed_command(COMMANDS, "bench", "Measure.", find)
    assert command is engines.command
    assert contributing_packages(find) == ("sapwood",)


@pytest.mark.usefixtures("without_lab")
@pytest.mark.parametrize(
    "words",
    [
        ("bench", "records", "--sizes", "10"),
        ("experiment", "x"),
        ("pipeline", "sweep", "--out", "x"),
    ],
)
def test_an_absent_command_says_how_to_get_it(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert (
        "is part of sapwood-lab, which is not installed: run pip install sapwood-lab" in done.output
    )


@pytest.mark.usefixtures("without_lab")
@pytest.mark.parametrize("words", [("bench", "--help"), ("pipeline", "sweep", "--help")])
def test_the_help_of_an_absent_command_says_what_it_needs(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert "sapwood-lab, which is not installed" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (["sapwood.errors:SapwoodError"], "it is no Command but of type type"),
        (["sapwood_nowhere:command"], "ModuleNotFoundError: No module named 'sapwood_nowhere'"),
        (["sapwood.cli.engines:command"] * 2, "extra 1.0 has one of the same name"),
    ],
)
def test_a_command_that_cannot_be_used_names_its_distribution(
    points: list[str], reason: str
) -> None:
    find = offering(*(EntryPoint("bench", point, COMMANDS) for point in points))
    with pytest.raises(ContributionError) as raised:
        contributed_command(COMMANDS, "bench", "Measure.", find)
    assert f"the command 'bench' of the distribution extra 1.0 cannot be used: {reason}" in str(
        raised.value
    )


def test_the_lab_contributes_its_commands() -> None:
    assert isinstance(contributed_command(COMMANDS, "experiment", ""), click.Command)
    assert contributing_packages() == ("sapwood_lab",)
