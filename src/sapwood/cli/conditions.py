"""Options of `sapwood simulate` for the conditions of links, clocks and routers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sapwood.errors import SapwoodError

if TYPE_CHECKING:
    from sapwood.simulation.conditions import Conditions

F = TypeVar("F", bound=Callable[..., Any])

_KEPT: Final = "sapwood.conditions"
"""The key of the options' values in the context of a command."""

_SHARE: Final = click.FloatRange(0, 1)
_SECONDS: Final = click.FloatRange(0, max=3600)


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value not in (None, ()):
        ctx.meta.setdefault(_KEPT, {})[parameter.name] = value


def _option(
    name: str, metavar: str, words: str, type_: Any = None, *, multiple: bool = False
) -> Callable[[F], F]:
    return click.option(
        name,
        metavar=metavar,
        help=words,
        type=type_,
        multiple=multiple,
        expose_value=False,
        callback=_keep,
    )


_OPTIONS: Final = (
    _option("--loss", "SHARE", "Share of the messages that links lose.", _SHARE),
    _option("--duplication", "SHARE", "Share that come twice.", _SHARE),
    _option("--reordering", "SHARE", "Share that later ones may come before.", _SHARE),
    _option(
        "--delay",
        "NAME:SECONDS",
        "How long messages take beside the latency: uniform:0.01 (at most), exponential:0.01 "
        "(mean), pareto:0.002 (scale); a second number is the longest [1].",
    ),
    _option("--jitter", "SHARE", "Latencies grow by up to this share.", click.FloatRange(0, 100)),
    _option("--drift", "PPM|drawn", "How far clocks are off, in millionths; drawn: each its own."),
    _option(
        "--processing",
        "SECONDS",
        "What a router takes for each message of a neighbor, one after the other.",
        _SECONDS,
    ),
    _option(
        "--fault",
        "'WORD FIELD=VALUE ...'",
        "A fault as --faults has it, beside those of the file: 'corruption router=r3 at=2 "
        "kinds=drop,insert', 'tampering between=r1,r2 start=1 seconds=2 how=alter', 'timer "
        "router=r3 start=1 seconds=30', link, router, clock, channel, "
        "suspicion, recipe. May be given several times.",
        multiple=True,
    ),
)


def conditions_options(command: F) -> F:
    """Add the options; their values are in the context of the command (`conditions_of`)."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def are_given(ctx: click.Context) -> bool:
    """True if one of these options was given."""
    return _KEPT in ctx.meta


def fault_words(ctx: click.Context) -> tuple[str, ...]:
    """The faults given by options, as words."""
    return tuple(ctx.meta.get(_KEPT, {}).get("fault", ()))


def conditions_of(ctx: click.Context) -> Conditions:
    """The conditions given by the options of a command; raises `UsageError`."""
    from dataclasses import replace

    from sapwood.simulation.channels import CALM
    from sapwood.simulation.conditions import Conditions, parse_delay, parse_drift
    from sapwood.simulation.network import Timing

    given: dict[str, Any] = ctx.meta.get(_KEPT, {})
    try:
        channel = parse_delay(given["delay"]) if "delay" in given else CALM
        clock = parse_drift(given["drift"]) if "drift" in given else None
    except SapwoodError as error:
        raise click.UsageError(str(error)) from error
    shares = {name: given[name] for name in ("loss", "duplication", "reordering") if name in given}
    timing = Timing(given.get("jitter", 0.0), processing_s=given.get("processing", 0.0))
    return Conditions(replace(channel, **shares), timing, clock)
