"""Shared parts of commands: exit statuses, messages, tables, JSON, progress, common options.

Results go to standard output, messages about them to standard error, so that a pipe
carries results alone.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, TypeAlias

import click

COLUMN_GAP: Final = "  "
LAST_COLUMN_CHARS_MIN: Final = 24
"""The least width of a table's last column; in narrower terminals lines overflow."""

Advance: TypeAlias = Callable[[int], None]
"""Advances a progress display by a number of units."""


class ExitStatus(IntEnum):
    """The exit status of a command, for scripts."""

    DONE = 0
    #: Done, but something was rejected on the way.
    REJECTED = 1
    #: Could not be done.
    FAILED = 2
    #: Ended by the keyboard: 128 + SIGINT, as in shells.
    INTERRUPTED = 130
    #: The reader of the output went away: 128 + SIGPIPE.
    PIPE_CLOSED = 141


def is_plain_terminal() -> bool:
    """True if the user has disabled escape codes, or the terminal has none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def finish_standard_output() -> None:
    """Write what standard output still holds; raises `OSError` if that cannot be done.

    Otherwise the interpreter would try when it ends, and fail with a message and a status of its
    own.
    """
    if sys.stdout is not None:
        sys.stdout.flush()


def standard_output_works() -> bool:
    """True if all that was written to standard output has arrived."""
    try:
        finish_standard_output()
    except (OSError, ValueError):  # ValueError: it was closed
        return False
    return True


def give_up_standard_output() -> None:
    """Point standard output nowhere, so that flushing it at exit is no second failure."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for a program to read."
)

strict_option = click.option(
    "--strict", is_flag=True, help="Fail at the first bad line instead of setting it aside."
)

engines_option = click.option(
    "--engine",
    "engines",
    multiple=True,
    help="See `sapwood engines`; one for records and one for documents may be given.",
)

dialect_option = click.option(
    "--dialect",
    metavar="NAME",
    help="Filters are in another language: cesql, jms, sns or eventbridge. In a file, those that "
    "do not name their own.",
)

id_member_option = click.option(
    "--id",
    "id_member",
    metavar="MEMBER",
    help="Each line of the publications is a record by itself; this member is its id, and no "
    "attribute.",
)

dtd_option: Final = click.option(
    "--dtd",
    type=click.Path(exists=True, dir_okay=False),
    help="DTD of the documents: lets a protocol that merges judge what mergers of XPaths add.",
)

input_file: Final = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)
"""The type of an option that names a file to read; `-` is standard input."""


def say(message: str) -> None:
    """Print a message for the user, on standard error."""
    click.echo(message, err=True)


def print_json(value: Any, *, err: bool = False) -> None:
    """Print any value that has a JSON form, on one line."""
    import msgspec

    click.echo(msgspec.json.encode(value), err=err)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; on a terminal the last column wraps to its width."""
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    indent = sum(widths[:-1]) + len(COLUMN_GAP) * (len(widths) - 1)
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    last = shutil.get_terminal_size().columns - indent if is_terminal else 0
    click.echo(click.style(_row(columns, widths), bold=True))
    for row in rows:
        wrapped = [row[-1]]
        if last >= LAST_COLUMN_CHARS_MIN:
            wrapped = textwrap.wrap(row[-1], last) or [""]
        click.echo(_row([*row[:-1], wrapped[0]], widths))
        for line in wrapped[1:]:
            click.echo(" " * indent + line)


@contextmanager
def progress(description: str, unit: str) -> Iterator[Advance]:
    """Show on a terminal how many `unit` are done; show nothing where no one is looking."""
    if not sys.stderr.isatty() or is_plain_terminal():
        yield _show_nothing
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f} " + unit),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda count: bar.advance(task, count)


def _show_nothing(_count: int) -> None:
    """Advance no progress bar."""


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return COLUMN_GAP.join(padded).rstrip()
