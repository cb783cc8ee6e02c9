"""`sapwood simulate --compare`: several protocols on one's own files, in one table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from sapwood.cli.output import ExitStatus, print_json, print_table, progress, say
from sapwood.cli.protocol_choice import chosen_protocol

if TYPE_CHECKING:
    from sapwood.files.scenarios import ScenarioLines
    from sapwood.routing.messages import Message
    from sapwood.simulation.comparison import Candidate

COMPARED: Final = (
    "simple",
    "identity",
    "covering",
    "covering+merging",
    "advertisement",
    "advertisement+covering",
    "simple+reuse:partial:20",
    "simple+reuse:always",
    "identity+bloom",
)
"""The compared protocols where none is named: each propagation, and forwarding by digests."""

COLUMNS: Final = (
    "PROTOCOL",
    "RIGHT",
    "MESSAGES",
    "STATE KB",
    "PUBLICATIONS KB",
    "CROSSINGS",
    "NEEDLESS",
    "SEARCHES",
    "LOOKUPS",
    "ENTRY US",
    "HOP US",
    "STATE MS",
    "TOTAL MS",
    "TABLES",
    "P50 MS",
    "P99 MS",
)

LEGEND: Final = (
    "messages, state kB: subscriptions, advertisements and the like, on links; entry us, hop us:\n"
    "processor time of a publication where it enters, and at each later router, one at a time;\n"
    "state ms: processor time of all else; p50, p99: virtual delays of deliveries"
)


def run_comparison(
    lines: ScenarioLines, names: Sequence[str], dtd: str | None, *, by_file: bool, as_json: bool
) -> ExitStatus:
    """Compare protocols, or those that are worth a look; print the table and what to take.

    Publishers advertise the advertisements of a file, and where there is none, everything.
    """
    from sapwood.simulation.comparison import compare, why
    from sapwood.simulation.optimizing import fitted

    def scenario_for(protocol: Any) -> Any:
        everything = not by_file and protocol.clients_advertise
        return fitted(lines.scenario(advertise_everything=everything), protocol)

    found = compare(
        scenario_for,
        [chosen_protocol(name, dtd) for name in names or COMPARED],
        time.thread_time,
        bytes_of,
        kernels=kernels_at_hand,
        watch=progress,
    )
    if as_json:
        print_json({"protocols": [members(one) for one in found], "recommended": why(found)})
    else:
        print_table(COLUMNS, [row(one) for one in found])
        for one in found:
            if one.refusal:
                say(f"{one.protocol}: {one.refusal}")
        click.echo(f"\n{LEGEND}\n\n{why(found)}")
    is_good = all(one.is_right or one.refusal for one in found)
    return ExitStatus.DONE if is_good else ExitStatus.FAILED


def bytes_of(message: Message) -> int:
    """The bytes of a router's message on a link."""
    from sapwood.limits import FRAME_BYTES_MAX
    from sapwood.wire.codec import append_routing

    buffer = bytearray()
    append_routing(buffer, message, FRAME_BYTES_MAX)
    return len(buffer)


def kernels_at_hand() -> tuple[bool, ...]:
    """For each set of kernels that routers use, true if it is loaded."""
    from sapwood.covering.columnar.index import COVERING
    from sapwood.matching.readiness import DOCUMENTS, RECORDS

    return tuple(one.compiled is not None for one in (RECORDS, DOCUMENTS, COVERING))


def row(one: Candidate) -> list[str]:
    """A protocol's line of the table."""
    cost, evaluation = one.cost, one.evaluation
    if cost is None or evaluation is None:
        return [one.protocol, "not here", *[""] * (len(COLUMNS) - 2)]
    figures = evaluation.metrics
    return [
        one.protocol,
        "yes" if one.is_right else "NO",
        f"{cost.state_messages:,}",
        f"{cost.state_bytes / 1e3:,.1f}",
        f"{cost.publication_bytes / 1e3:,.1f}",
        f"{figures.false_positives.crossings:,}",
        f"{figures.false_positives.needless:,}",
        f"{cost.matches:,}",
        f"{cost.lookups:,}",
        f"{each(cost.entered_s, cost.entries):,.1f}",
        f"{each(cost.passed_s, cost.passages):,.1f}",
        f"{1e3 * cost.state_s:,.1f}",
        f"{1e3 * cost.seconds:,.1f}",
        f"{cost.tables:,}",
        f"{1e3 * figures.delay_s.p50:,.1f}",
        f"{1e3 * figures.delay_s.p99:,.1f}",
    ]


def each(seconds: float, count: int) -> float:
    """Microseconds for each of `count`; 0 for none."""
    return 1e6 * seconds / count if count else 0.0


def members(one: Candidate) -> dict[str, Any]:
    """A protocol's figures, for a program."""
    import msgspec

    if one.cost is None or one.evaluation is None:
        return {"protocol": one.protocol, "refused": one.refusal}
    figures = one.evaluation.metrics
    return {
        "protocol": one.protocol,
        "right": one.is_right,
        "cost": msgspec.to_builtins(one.cost),
        "crossings": figures.false_positives.crossings,
        "needless": figures.false_positives.needless,
        "delay_s": msgspec.to_builtins(figures.delay_s),
        "deliveries": figures.deliveries,
    }
