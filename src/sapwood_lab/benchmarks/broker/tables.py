"""The cells of a report as tables: on a terminal, or in Markdown for a page.

`python -m sapwood_lab.benchmarks.broker.tables FILE` prints, in Markdown, the tables of the figures
that `sapwood bench broker --out FILE` wrote; with a page as a second argument it puts them there,
between `BEGIN` and `END`. So no figure is typed into a page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from click import echo

from sapwood.errors import FileFormatError
from sapwood_lab.benchmarks.broker.cells import QUANTILES, SHARES
from sapwood_lab.benchmarks.figures import Column, print_figures

_PLACE: Final = (
    Column("workload", "workload"),
    Column("subscriptions", "subscriptions", ",d"),
    Column("clients", "clients", ",d"),
    Column("hops", "hops"),
    Column("system", "system"),
)

_COSTS: Final = (
    *_PLACE,
    Column("publications/s", "publications_per_s", ",.0f"),
    Column("x echo", "echo_ratio", ".2f"),
    Column("deliveries/s", "deliveries_per_s", ",.0f"),
    Column("server us", "server_us", ",.1f"),
    Column("at first", "first_us", ",.1f"),
    Column("a delivery", "server_delivery_us", ",.1f"),
    Column("receivers us", "receivers_us", ",.1f"),
    Column("deliveries are", "remark"),
)

_DELAYS: Final = (
    *_PLACE,
    *(
        Column(f"{share} %: p{quantile:g}", f"delay_{share}_p{quantile:g}_ms", ",.2f")
        for share in SHARES
        for quantile in QUANTILES
    ),
    Column("50 %: p99 of being sent", "delay_50_sent_p99_ms", ",.2f"),
    Column("delays", "samples"),
)

_REST: Final = (
    *_PLACE,
    Column("longest pause ms", "pause_ms", ",.1f"),
    Column("MiB", "memory_mib", ",.0f"),
    Column("at most", "memory_most_mib", ",.0f"),
    Column("bytes a subscription", "subscription_bytes", ",.0f"),
    Column("subscribed s", "subscribe_s", ",.2f"),
    Column("back s", "back_s", ",.2f"),
)

_CHURN: Final = (
    *_PLACE,
    Column("p50", "churn_p50_ms", ",.2f"),
    Column("p99", "churn_p99_ms", ",.2f"),
    Column("longest pause", "churn_pause_ms", ",.1f"),
    Column("p99 until confirmed", "churn_answer_p99_ms", ",.1f"),
    Column("cold: publications/s", "cold_rate", ",.0f"),
    Column("p99 of the first second", "cold_first_p99_ms", ",.2f"),
    Column("p50", "cold_p50_ms", ",.2f"),
    Column("p99", "cold_p99_ms", ",.2f"),
    Column("longest pause", "cold_pause_ms", ",.1f"),
    Column("compiled after s", "cold_compiled_s", ",.0f"),
)

BEGIN: Final = "<!-- figures -->"
END: Final = "<!-- end of figures -->"

TABLES: Final = (
    ("Publications, and what one costs", _COSTS),
    ("Delays in ms, at shares of the capacity", _DELAYS),
    ("Delays and pauses in ms while 1,000 subscriptions a second come and go", _CHURN),
    ("Pauses, memory, subscribing and coming back", _REST),
)


def rows_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cells, with the further columns of tables beside their figures."""
    rate = report["echo"]["frames_per_s"]
    return [{**cell, **_said(cell, rate)} for cell in report["cells"]]


def _said(cell: Mapping[str, Any], echo_rate: float) -> dict[str, Any]:
    verdict, reason = cell["verdict"], cell["reason"]
    remark = verdict if verdict in (None, "exact") else f"VOID: {verdict}"
    samples = [cell[f"delay_{share}_samples"] for share in SHARES]
    published = cell["publications_per_s"]
    return {
        "remark": "; ".join(filter(None, (remark, reason))),
        "echo_ratio": None if published is None else published / echo_rate,
        "samples": None if None in samples else "/".join(f"{count:,}" for count in samples),
    }


def _tables(
    report: Mapping[str, Any],
) -> Iterator[tuple[str, Sequence[Column], list[dict[str, Any]]]]:
    """Each table: title, columns, and the rows that have something in it.

    What could not be measured at all has its row, with the reason, in the first table.
    """
    rows = rows_of(report)
    for title, columns in TABLES:
        own = columns[len(_PLACE) :]
        yield (
            title,
            columns,
            [row for row in rows if any(row[column.field] is not None for column in own)],
        )


def _notes(report: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Raw asyncio echo of 512-byte frames in the same run: "
        f"{report['echo']['frames_per_s']:,.0f} frames/s."
    )
    if report["peers"]:
        yield "Peers: " + ", ".join(f"{name} {of}" for name, of in report["peers"].items()) + "."
    for name, reason in report["left_out"].items():
        yield f"Left out: {name}, {reason}."


def print_broker(report: Mapping[str, Any]) -> None:
    """Print one table a topic."""
    for title, columns, rows in _tables(report):
        print_figures(rows, columns, title)
        echo()
    for note in _notes(report):
        echo(note)


def markdown(report: Mapping[str, Any]) -> str:
    """The same tables in Markdown."""
    lines: list[str] = []
    for title, columns, rows in _tables(report):
        headings = [column.heading for column in columns]
        lines += [f"### {title}", "", _line(headings), _line(["---"] * len(headings))]
        lines += [_line([column.text(row) for column in columns]) for row in rows]
        lines.append("")
    return "\n".join([*lines, *(f"* {note}" for note in _notes(report))]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fill(page: str, tables: str) -> str:
    """A page with the tables in the place of what stands between its two marks.

    Raises `FileFormatError` for a page without marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise FileFormatError("the page", f"it has no place between {BEGIN} and {END}")
    return f"{before}{begin}\n\n{tables}\n{end}{after}"


def main(figures: str, page: str | None = None) -> None:
    """Print the tables of a file of figures, or put them into a page."""
    report = msgspec.json.decode(Path(figures).read_bytes())
    machine = report["machine"]
    where = f"* Machine: {machine['processor']}, {machine['cores']} cores, {machine['system']}, "
    text = f"{markdown(report['broker'])}{where}Python {machine['python']}.\n"
    if page is None:
        echo(text, nl=False)
    else:
        Path(page).write_text(fill(Path(page).read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
