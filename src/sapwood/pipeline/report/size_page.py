"""The page's section on routing tables: how many entries each broker's held over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from sapwood.charts import number
from sapwood.charts.panels import Layer, Panel, panels
from sapwood.charts.plots import legend

ALL: Final = "all"
"""In the place of a table's name: all tables of a broker together."""

UNCONFIRMED: Final = "unconfirmed"
"""The table that counts entries of other tables again, and is no part of `ALL`."""

TITLE: Final = "Routing tables"

_KNOWN: Final = ("local", "received", "propagated", "advertisements", UNCONFIRMED)
"""The tables of Sapwood's routers, in the order in which they are shown."""

FEW: Final = 6
"""Brokers whose tables are distinguished in the plot; of more, panels are too small for that."""

_STYLES: Final = ("first", "second", "third", "fourth", "fifth")
"""Classes of colors; where there are more tables than these, they are not distinguished."""

_NONE: Final = (
    "A broker with --data writes them into its journal while it runs; that of an earlier version "
    "has none."
)


class State(NamedTuple):
    """The size of a table from a moment on, in seconds since 1970."""

    broker: str
    table: str
    second: float
    entries: int


class Peak(NamedTuple):
    """The last and the largest size of a table."""

    broker: str
    table: str
    latest: int
    largest: int


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """The figures of routing tables for the page.

    `states` are ordered by time, and at each moment all tables of a broker have a state; `ALL` is a
    table, too. `period` are the first and the last moment as text, in UTC. States and peaks are of
    the brokers that are shown, which may be fewer than `brokers`. `without` are the journals that
    hold no table sizes.
    """

    brokers: int = 0
    period: tuple[str, str] = ("", "")
    states: Sequence[State] = ()
    peaks: Sequence[Peak] = ()
    without: Sequence[str] = ()


def sizes_section(figures: SizeFigures) -> str:
    """The section as HTML."""
    if not figures.states:
        said = f"There are no table sizes{_where(figures.without)}. {_NONE}"
        return f"<section><h2>{TITLE}</h2><p>{escape(said)}</p></section>"
    sizes = _Sizes.of(figures.peaks)
    parts = sizes.parts if len(sizes.brokers) <= FEW and len(sizes.parts) <= len(_STYLES) else ()
    keys = legend(tuple(zip(_STYLES, parts, strict=False)))
    return (
        f'<section class="wide"><h2>{TITLE}</h2><p>{escape(_said(figures, sizes, parts))}</p>'
        f'<div class="keys">{keys}</div>'
        f'<div class="scroll">{_plot(figures, sizes, parts)}</div>{_table(sizes)}'
        f"{_missing(figures.without)}</section>"
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The peaks by broker and table; tables that never held anything are left out.

    `parts` are the tables whose sum is `ALL`, `columns` all that are shown in numbers.
    """

    brokers: Sequence[str]
    parts: Sequence[str]
    columns: Sequence[str]
    peaks: Mapping[tuple[str, str], Peak]

    @classmethod
    def of(cls, peaks: Sequence[Peak]) -> _Sizes:
        used = {peak.table for peak in peaks if peak.largest} - {ALL}
        ordered = sorted(used, key=_rank)
        return cls(
            brokers=sorted({peak.broker for peak in peaks}),
            parts=[table for table in ordered if table != UNCONFIRMED],
            columns=[*ordered, ALL],
            peaks={(peak.broker, peak.table): peak for peak in peaks},
        )


def _rank(table: str) -> tuple[int, str]:
    return (_KNOWN.index(table) if table in _KNOWN else len(_KNOWN), table)


def _said(figures: SizeFigures, sizes: _Sizes, parts: Sequence[str]) -> str:
    first, last = figures.period
    together = "" if parts else " together"
    said = f"How many entries each broker's tables held{together}, from {first} to {last}"
    if len(sizes.brokers) > 1:
        said += ", all on one scale"
    if len(sizes.brokers) > FEW:
        said += "; the number beside a name is the most"
    if UNCONFIRMED in sizes.columns:
        said += f"; {UNCONFIRMED} counts some of the others' entries again, and is not drawn"
    if figures.brokers > len(sizes.brokers):
        said += (
            f". Shown are the {number(len(sizes.brokers))} of {number(figures.brokers)} brokers "
            "whose tables were largest; table_peaks has all"
        )
    return f"{said}."


def _plot(figures: SizeFigures, sizes: _Sizes, parts: Sequence[str]) -> str:
    """One panel a broker: the `parts` upon each other, or, without any, all tables together."""
    held: dict[str, dict[str, dict[float, int]]] = {broker: {} for broker in sizes.brokers}
    for broker, table, second, entries in figures.states:
        held[broker].setdefault(table, {})[second] = entries
    shown = []
    for broker, tables in held.items():
        times = list(tables[ALL])
        layers = [
            Layer([tables.get(part, {}).get(time, 0) for time in times], style)
            for style, part in zip(_STYLES, parts or (ALL,), strict=False)
        ]
        most = number(sizes.peaks[broker, ALL].largest)
        # Where panels are narrow, names need the room.
        beside = f"at most {most}" if len(held) <= FEW else most
        shown.append(Panel(broker, times, layers, beside))
    return panels(shown, "entries", "time, in UTC", _ends(*figures.period))


def _ends(first: str, last: str) -> tuple[str, str]:
    """Two moments in their shortest form: without the day where it is the same."""
    if first[:10] == last[:10]:
        return first[11:], last[11:]
    if first[:4] == last[:4]:
        return first[5:16], last[5:16]
    return first[:10], last[:10]


def _table(sizes: _Sizes) -> str:
    """The latest and the largest size of each table of each broker."""
    above = "".join(f'<th colspan="2">{escape(table)}</th>' for table in sizes.columns)
    below = '<th class="latest">latest</th><th class="most">largest</th>' * len(sizes.columns)
    rows = "".join(
        f"<tr><td>{escape(broker)}</td>{''.join(_cells(sizes, broker))}</tr>"
        for broker in sizes.brokers
    )
    return (
        f'<div class="scroll"><table><thead><tr><th rowspan="2">broker</th>{above}</tr>'
        f"<tr>{below}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cells(sizes: _Sizes, broker: str) -> Iterator[str]:
    for table in sizes.columns:
        peak = sizes.peaks.get((broker, table))
        latest, largest = ("", "") if peak is None else map(number, (peak.latest, peak.largest))
        yield f'<td class="latest">{latest}</td><td class="most">{largest}</td>'


def _missing(without: Sequence[str]) -> str:
    if not without:
        return ""
    return f"<p>{escape(f'There are none{_where(without)}. {_NONE}')}</p>"


def _where(journals: Sequence[str]) -> str:
    return f" in {', '.join(journals)}" if journals else ""
