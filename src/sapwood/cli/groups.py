"""Groups of commands below `sapwood`, whose help lists each command with its whole summary."""

from __future__ import annotations

from typing import Final

import click

_WHOLE: Final = 1_000
"""Characters of a summary: more than the first sentence of any help text."""


class CommandGroup(click.Group):
    """A group whose help wraps summaries that are longer than a line; click cuts them off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with the first sentence of its help."""
        names = self.list_commands(ctx)
        commands = [(name, self.get_command(ctx, name)) for name in names]
        rows = [
            (name, command.get_short_help_str(_WHOLE))
            for name, command in commands
            if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
