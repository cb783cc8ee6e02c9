"""Commands that another distribution contributes: the lab's, through entry points.

The product imports nothing of the lab. Where the lab is installed, its commands are found under
the names that they have always had; where it is not, they say how to get it.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

import click

from sapwood.errors import EnvironmentMissingError, InvariantError

COMMANDS: Final = "sapwood.commands"
"""Entry points of this group are commands of `sapwood`."""

PIPELINE_COMMANDS: Final = "sapwood.pipeline.commands"
"""Entry points of this group are commands of `sapwood pipeline`."""

LAB: Final = "sapwood-lab"
"""The distribution that has benchmarks, experiments, workloads and sweeps."""


def contributed_command(group: str, name: str, summary: str) -> click.Command:
    """The command that an installed distribution contributes under a name.

    Where none does, a command of that name that takes any arguments and raises
    `EnvironmentMissingError` with the remedy. Raises `InvariantError` for an entry point that is
    no command.
    """
    for entry_point in entry_points(group=group, name=name):
        command = entry_point.load()
        if not isinstance(command, click.Command):
            raise InvariantError(f"the entry point {entry_point.value} is no command")
        return command
    return _absent(name, summary)


def contributing_packages() -> tuple[str, ...]:
    """The import names of the packages that contribute commands, sorted."""
    groups = (COMMANDS, PIPELINE_COMMANDS)
    points = (point for group in groups for point in entry_points(group=group))
    return tuple(sorted({point.module.partition(".")[0] for point in points}))


def _absent(name: str, summary: str) -> click.Command:
    """A command that says what it needs, whatever its arguments are."""

    @click.command(
        name,
        help=f"{summary} It is part of {LAB}, which is not installed.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def absent() -> None:
        raise EnvironmentMissingError(
            f"{name} is part of {LAB}, which is not installed: run pip install {LAB}, or "
            "make setup in a checkout of the repository"
        )

    return absent
