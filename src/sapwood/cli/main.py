"""The command `sapwood`: a table of commands, loaded on use, and the end of failures.

Starting fast is part of the contract (`sapwood --help` within 0.2 s), so nothing is imported here
but click and the error tree; each command lives in a module of its own.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from sapwood import __version__
from sapwood.cli.output import (
    ExitStatus,
    finish_standard_output,
    give_up_standard_output,
    is_plain_terminal,
    say,
    standard_output_works,
)
from sapwood.errors import InvariantError, NeverMatchesWarning, SapwoodError


class Entry(NamedTuple):
    """The place of a command, the attribute `command` of a module, and its line in the help.

    `None` is the module of a command that another distribution contributes (`cli/contributed.py`).
    """

    module: str | None
    summary: str


COMMANDS: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "demo": Entry(
            "sapwood.cli.demo",
            "Carry a year of real flights through three brokers and through Spark, and compare.",
        ),
        "match": Entry(
            "sapwood.cli.match",
            "Match publications against subscriptions, records and documents, from files.",
        ),
        "explain": Entry(
            "sapwood.cli.explain",
            "Say why a publication matches a subscription, or what of the filter it fails.",
        ),
        "covers": Entry(
            "sapwood.cli.covers",
            "Say whether one filter covers the other, and whether they intersect.",
        ),
        "simulate": Entry(
            "sapwood.cli.simulate",
            "Run an overlay of routers in virtual time, and check every delivery.",
        ),
        "broker": Entry(
            "sapwood.cli.broker", "Run a broker until it is interrupted (SIGINT or SIGTERM)."
        ),
        "publish": Entry(
            "sapwood.cli.publish",
            "Publish a file of publications (JSON Lines; - is standard input).",
        ),
        "subscribe": Entry(
            "sapwood.cli.subscribe",
            "Print publications that match FILTER, or documents that match an XPath, as they come.",
        ),
        "request": Entry(
            "sapwood.cli.request", "Publish a record that asks for a reply, and print the reply."
        ),
        "durable": Entry(
            "sapwood.cli.durable", "List, show and remove the durable subscriptions of a broker."
        ),
        "kafka": Entry(
            "sapwood.cli.kafka", "Bridge topics of Kafka and a broker, in both directions."
        ),
        "check": Entry(
            "sapwood.cli.check",
            "Compare the tables of brokers with those of their neighbors, edge by edge.",
        ),
        "status": Entry(
            "sapwood.cli.status",
            "Show one broker's state: links and their delays, tables, counters, store.",
        ),
        "optimizer": Entry(
            "sapwood.cli.optimizer",
            "Keep the routing tree of an overlay, as a client of one of its brokers.",
        ),
        "identity": Entry(
            "sapwood.cli.identity",
            "Make and check entries of a file of identities: who may connect.",
        ),
        "grants": Entry(
            "sapwood.cli.grants",
            "Say what identities may do, by the grants in a file of identities.",
        ),
        "pipeline": Entry(
            "sapwood.cli.pipeline",
            "Run the Spark jobs: bring files in, compile subscriptions, match, stream.",
        ),
        "engines": Entry(
            "sapwood.cli.engines", "List the matching engines, for records and for documents."
        ),
        "protocols": Entry("sapwood.cli.protocols", "List the routing protocols."),
        "warm-up": Entry(
            "sapwood.cli.warm_up",
            "Compile the kernels ahead of time, so that no command waits for them.",
        ),
        "completion": Entry(
            "sapwood.cli.completion",
            "Print the script that lets a shell complete commands and options.",
        ),
        "experiment": Entry(
            None, "Make a published figure or table again, and print it beside what was published."
        ),
        "bench": Entry(None, "Measure matching, the network and Spark on this machine."),
    }
)
"""In the order of the help: commands that a newcomer needs first come first."""


class CommandTable(click.Group):
    """A group whose commands come from `COMMANDS`, each imported when it is called.

    Everything that is raised on purpose ends as one message and an `ExitStatus`; a defect keeps
    its traceback.
    """

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments, or print help or version, which can fail as any output can."""
        try:
            return super().make_context(*args, **extra)
        except OSError as error:
            raise click.exceptions.Exit(_ended_by_system("sapwood", error)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of all commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if entry.module is None:
            from sapwood.cli.contributed import COMMANDS as GROUP
            from sapwood.cli.contributed import contributed_command

            return contributed_command(GROUP, cmd_name, entry.summary)
        command = import_module(entry.module).command
        assert isinstance(command, click.Command), f"{entry.module}.command is no command"
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin like this, from the table, without importing one."""
        found = [
            CompletionItem(name, help=entry.summary)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands from the table, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn whatever it raises into a message and an exit status."""
        try:
            with warnings.catch_warnings():  # commands report it in their own words
                warnings.simplefilter("ignore", NeverMatchesWarning)
                return _invoked(super().invoke, ctx)
        except (click.exceptions.Exit, click.UsageError):
            raise
        except click.ClickException as error:
            error.show()
            ctx.exit(ExitStatus.FAILED)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(ExitStatus.INTERRUPTED)
        except InvariantError:
            _report_defect(ctx)
        except SapwoodError as error:
            say(f"{ctx.command_path}: {error}")
            ctx.exit(ExitStatus.FAILED)
        except OSError as error:
            ctx.exit(_ended_by_system(ctx.command_path, error))
        except Exception:  # noqa: BLE001 - the outermost frame; Python's own status 1 has a meaning here
            _report_defect(ctx)
        finally:
            if not standard_output_works():
                give_up_standard_output()


def _invoked(invoke: Callable[[click.Context], Any], ctx: click.Context) -> Any:
    """The result of a command, once all of its output is written."""
    try:
        result = invoke(ctx)
    except click.exceptions.Exit:
        finish_standard_output()
        raise
    finish_standard_output()
    return result


def _ended_by_system(program: str, error: OSError) -> ExitStatus:
    """Report where the system failed, unless the reader of the output went away."""
    if isinstance(error, BrokenPipeError):
        give_up_standard_output()
        return ExitStatus.PIPE_CLOSED
    place = "" if error.filename is None else f"{error.filename}: "
    if not standard_output_works():
        place = place or "standard output: "
        give_up_standard_output()
    say(f"{program}: {place}{error.strerror or error}")
    return ExitStatus.FAILED


@click.group(
    name="sapwood",
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Content-based publish/subscribe: carry each publication to exactly those who asked.

    Exit status: 0 all done, 1 done but something was rejected, 2 could not be done.
    """
    if is_plain_terminal():
        ctx.color = False


def _report_defect(ctx: click.Context) -> None:
    traceback.print_exc()
    say("This is a defect of sapwood; please report it with the lines above.")
    ctx.exit(ExitStatus.FAILED)
