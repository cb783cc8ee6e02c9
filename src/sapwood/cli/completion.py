"""`sapwood completion`: scripts by which shells complete commands, options and values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: Final[Mapping[str, type[ShellComplete]]] = MappingProxyType(
    {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
)


@click.command
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(ctx: click.Context, *, shell: str) -> None:
    """Print the script that lets a shell complete commands and options.

    For this session: eval "$(sapwood completion bash)". For all: put that line into ~/.bashrc
    (zsh: ~/.zshrc), or the output into ~/.config/fish/completions/sapwood.fish.
    """
    program = ctx.find_root()
    script = SHELLS[shell](program.command, {}, "sapwood", "_SAPWOOD_COMPLETE")
    click.echo(script.source())
