"""`sapwood completion`: what a shell needs to complete commands, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(ctx: click.Context, *, shell: str) -> None:
    """Print the script that lets a shell complete `sapwood`.

    For this session: eval "$(sapwood completion bash)". For all: put that line into ~/.bashrc
    (zsh: ~/.zshrc), or the output into ~/.config/fish/completions/sapwood.fish.
    """
    program = ctx.find_root()
    script = SHELLS[shell](program.command, {}, "sapwood", "_SAPWOOD_COMPLETE")
    click.echo(script.source())
