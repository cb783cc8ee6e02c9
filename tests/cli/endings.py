"""A command that ends in every way a command can end."""

from __future__ import annotations

import click

from sapwood.errors import EnvironmentMissingError, FileFormatError, InvariantError


@click.command
@click.argument("ending")
@click.pass_context
def command(ctx: click.Context, ending: str) -> None:
    """End in the way asked for."""
    endings: dict[str, BaseException] = {
        "input": FileFormatError("subs.jsonl", "is a folder; name a file in it"),
        "environment": EnvironmentMissingError("no Java"),
        "usage": click.UsageError("only one of the two"),
        "click": click.ClickException("could not open"),
        "disk": OSError(28, "No space left on device", "out.jsonl"),
        "device": OSError("gone"),
        "pipe": BrokenPipeError(32, "Broken pipe"),
        "keyboard": KeyboardInterrupt(),
        "invariant": InvariantError("two routers own the link"),
        "defect": ZeroDivisionError("division by zero"),
    }
    if ending in endings:
        raise endings[ending]
    ctx.exit(int(ending))
