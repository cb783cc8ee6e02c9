"""`sapwood broker`: a router on the network."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from sapwood.broker.configuration.kinds import Choice, Kind, Place, Several, Switch, Value
from sapwood.broker.configuration.options import OPTIONS, Option
from sapwood.cli.output import (
    ExitStatus,
    give_up_standard_output,
    is_plain_terminal,
    print_json,
    print_table,
    say,
)
from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.broker.configuration.sources import Configuration

F = TypeVar("F", bound=Callable[..., Any])

_STANDARD_OUTPUT: Final = "-"


class _Type(click.ParamType):  # type: ignore[type-arg]  # older ones are not generic
    """The type of an option for click: its values are as in a file and in the environment."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.name = kind.metavar

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Value:
        """The value of a text; other values are converted already."""
        if not isinstance(value, str):
            assert isinstance(value, int | float), "click hands in texts and what was converted"
            return value
        try:
            return self._kind.of_text(value)
        except InputError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names, or paths, that begin like this."""
        if isinstance(self._kind, Place):
            kind = "dir" if self._kind.metavar == "DIRECTORY" else "file"
            return [CompletionItem(incomplete, type=kind)]
        if isinstance(self._kind, Choice):
            return [CompletionItem(one) for one in self._kind.names if one.startswith(incomplete)]
        return super().shell_complete(ctx, param, incomplete)


def _option(option: Option) -> Callable[[F], F]:
    """An option of the table, for click; it is `None`, or `()`, where it is not given."""
    kind = option.kind
    without = option.without
    if option.default is not None:
        without = _shown(option.default)
    text = f"{option.text}  [default: {without}]"
    if isinstance(kind, Switch):
        spelled = f"{option.flag}/--no-{option.flag.removeprefix('--')}"
        return click.option(spelled, option.name, default=None, help=option.text)
    if isinstance(kind, Several):
        return click.option(
            option.flag, option.name, multiple=True, metavar=kind.metavar, help=text
        )
    return click.option(option.flag, option.name, type=_Type(kind), metavar=kind.metavar, help=text)


def _shown(default: Value) -> str:
    if isinstance(default, tuple):
        return " ".join(default)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _options(command: F) -> F:
    for option in reversed(tuple(OPTIONS.values())):
        command = _option(option)(command)
    return command


@click.command
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read options from a file (TOML); those on the command line count before it.",
)
@click.option(
    "--write-config",
    "write_to",
    is_flag=False,
    flag_value=_STANDARD_OUTPUT,
    metavar="[FILE]",
    help="Write such a file with every option, its default and what it is for, and end. What is "
    "given beside it is set there. Without FILE, to standard output.",
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Read all that the broker would read, say what it would do, and end. With --json, as "
    "JSON. Status 2: it would not start.",
)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    config: Path | None,
    write_to: str | None,
    is_check: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a broker until it is interrupted (SIGINT or SIGTERM).

    With --data it recovers: after a crash it goes on as if it had only been slow, unless --protocol
    names another upkeep (replay). All brokers of an overlay do, or none does.

    Brokers that are linked form one overlay: a tree, unless the name of the protocol begins with
    mesh+. The first line on standard output is `listening on HOST:PORT as NAME`; `link up NAME` and
    `link down NAME` follow. The log goes to standard error.

    Each option may also be given in a file (`keep_bytes = 1000000`) and in the environment
    (SAPWOOD_BROKER_KEEP_BYTES): the command line counts before the environment, that before the
    file. SIGHUP has the file read again.
    """
    from sapwood.broker.configuration.sources import read_configuration

    given = {name: value for name, value in options.items() if value not in (None, ())}

    def read() -> Configuration:
        return read_configuration(given, os.environ, config)

    if is_check:
        ctx.exit(_check(read, as_json=as_json))
    told = read()
    if write_to is not None:
        _write(told, write_to)
        ctx.exit(ExitStatus.DONE)
    _run(told, read)
    ctx.exit(ExitStatus.DONE)


def _run(told: Configuration, read: Callable[[], Configuration]) -> None:
    from sapwood.broker.kernels import place_kernels
    from sapwood.broker.logs import Level, make_log
    from sapwood.broker.reloading import Reloading
    from sapwood.broker.running import run_broker
    from sapwood.cli.broker_settings import settings_of

    settings = settings_of(told)
    level = Level(told["log_level"])
    log = make_log(level, colors=not is_plain_terminal(), form=told["log_format"])
    for warning in told.warnings:
        log.warning("variable not understood", reason=warning)
    if settings.data is not None:
        place_kernels(settings.data)
    try:
        reloading = Reloading(told, read, settings_of, level, log)
        run_broker(settings, log, _announce, reloading)
    except InputError as error:
        raise told.located(error) from error


def _check(read: Callable[[], Configuration], *, as_json: bool) -> ExitStatus:
    """Print what a broker with this configuration would do."""
    from sapwood.broker.configuration.checking import Report, check
    from sapwood.broker.configuration.kinds import written
    from sapwood.cli.broker_settings import settings_of

    report, problems, warnings = Report(), list[str](), list[str]()
    options: dict[str, dict[str, Any]] = {}
    try:
        told = read()
        options = {name: {"value": told[name], "from": told.place(name)} for name in OPTIONS}
        warnings += told.warnings
        report = check(settings_of(told))
        for found in report.problems:
            problems.append(str(told.located(found) if isinstance(found, InputError) else found))
    except InputError as error:
        problems.append(str(error))
    warnings += report.warnings
    if as_json:
        does = {"does": report.does, "warnings": warnings, "problems": problems}
        print_json({"options": options, **does})
        return ExitStatus.FAILED if problems else ExitStatus.DONE
    given = [
        (name, f"{written(one['value'])} ({one['from']})")
        for name, one in options.items()
        if one["from"] != "default"
    ]
    for rows, heading in ((given, "given"), (list(report.does.items()), "it would")):
        if rows:
            print_table((heading, ""), rows)
    for warning in warnings:
        say(f"warning: {warning}")
    for problem in problems:
        say(problem)
    say("it would not start" if problems else "it would start")
    return ExitStatus.FAILED if problems else ExitStatus.DONE


def _write(told: Configuration, write_to: str) -> None:
    from sapwood.broker.configuration.template import template

    text = template(told)
    if write_to == _STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        with Path(write_to).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{write_to} is there already; name another file") from None
    except OSError as error:
        raise InputError(f"{write_to}: cannot be written: {error.strerror or error}") from error


def _announce(line: str) -> None:
    """Print a line for programs; a reader that went away does not stop the broker."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        give_up_standard_output()
