"""Commands that another distribution contributes: the lab's, through entry points.

The product imports nothing of the lab. Where the lab is installed, its commands are found under
the names that they have always had; where it is not, they explain how to get it.
"""

from __future__ import annotations

from typing import Final

import click

from sapwood.catalogue import Finder, installed, the_only
from sapwood.errors import EnvironmentMissingError

COMMANDS: Final = "sapwood.commands"
"""Entry points of this group are commands of `sapwood`."""

PIPELINE_COMMANDS: Final = "sapwood.pipeline.commands"
"""Entry points of this group are commands of `sapwood pipeline`."""

LAB: Final = "sapwood-lab"
"""The distribution that has benchmarks, experiments, workloads and sweeps."""


def contributed_command(
    group: str, name: str, summary: str, find: Finder = installed
) -> click.Command:
    """The command that an installed distribution contributes under a name.

    Where none does, a command of that name that takes any arguments and raises
    `EnvironmentMissingError` with the remedy. Raises `ContributionError` for one that cannot be
    imported, is no command, or is contributed twice.
    """
    offered = [one for one in find(group) if one.name == name]
    return the_only(offered, "command", click.Command) if offered else _absent(name, summary)


def contributing_packages(find: Finder = installed) -> tuple[str, ...]:
    """The import names of the packages that contribute commands, sorted."""
    groups = (COMMANDS, PIPELINE_COMMANDS)
    return tuple(sorted({one.package for group in groups for one in find(group)}))


def _absent(name: str, summary: str) -> click.Command:
    """A command that names the missing distribution, whatever its arguments are."""

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
