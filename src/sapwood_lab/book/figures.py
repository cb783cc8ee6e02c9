"""Figures and tables of a report as HTML: what was published, and what was found, drawn alike."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from sapwood.charts.pictures import line_chart
from sapwood_lab.experiments.report import Cell, Chart, Finding, Lines, Report

ROWS_SHOWN: Final = 12
"""Rows of a table that are shown open; a longer table opens on a click."""

PUBLISHED: Final = "published"
"""The prefix of the names of columns that hold printed values of a work."""


def pictures(report: Report) -> str:
    """The charts of a report: first those beside the published ones, over the same axes."""
    drawn = [chart for chart in report.charts if chart.placed(chart.lines)]
    beside = [chart for chart in drawn if chart.placed(chart.published)]
    alone = "".join(_figures(chart) for chart in drawn if chart not in beside)
    pairs = "".join(f'<div class="pair">{_figures(chart)}</div>' for chart in beside)
    return f'{pairs}<div class="pair">{alone}</div>' if alone else pairs


def table(report: Report) -> str:
    """All figures; columns of what was published have a class of their own."""
    styles = [' class="theirs"' if name.startswith(PUBLISHED) else "" for name in report.columns]
    heads = "".join(
        f"<th{style}>{escape(name.replace('_', ' '))}</th>"
        for name, style in zip(report.columns, styles, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{style}>{_text(c)}</td>" for c, style in zip(row, styles, strict=True))
        + "</tr>"
        for row in report.rows
    )
    grid = (
        f'<div class="scroll"><table class="figures"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    opened = " open" if len(report.rows) <= ROWS_SHOWN else ""
    count = f"{len(report.rows):,} row{'s' if len(report.rows) != 1 else ''}"
    return f"<details{opened}><summary>All figures: {count}</summary>{grid}</details>"


def findings(report: Report) -> str:
    """The published claims, whether each holds in these figures, and where not, why."""
    return f'<ul class="findings">{"".join(map(_finding, report.findings))}</ul>'


def _finding(one: Finding) -> str:
    verdict = "holds" if one.holds else "not at this size" if one.is_open else "does not hold"
    read = f"As we read it: {one.why}" if one.why else "The reason is not known."
    needs = f" Published are {one.needs}." if one.needs else ""
    why = "" if one.holds else f"<p>{escape(read + needs)}</p>"
    style = "yes" if one.holds else "open" if one.is_open else "no"
    return (
        f'<li class="{style}"><b>{verdict}</b> {escape(one.claim)} '
        f"<i>{escape(one.shown)}</i>{why}</li>"
    )


def _figures(chart: Chart) -> str:
    ours, theirs = chart.placed(chart.lines), chart.placed(chart.published)
    sides = [(ours, theirs, "Here" if theirs else "Here (no values are published)")]
    if theirs:
        sides.insert(0, (theirs, ours, "Published"))
    return "".join(
        f'<figure><figcaption>{who}</figcaption><div class="scroll">'
        f"{_drawn(chart, lines, other)}</div></figure>"
        for lines, other, who in sides
    )


def _drawn(chart: Chart, lines: Lines, other: Lines) -> str:
    return line_chart(
        chart.title,
        chart.x_label,
        chart.y_label,
        lines,
        linear_x=chart.linear_x,
        linear_y=chart.linear_y,
        beside=[point for points in other.values() for point in points],
    )


def scattered(report: Report) -> Iterator[str]:
    """The settings of a report, as texts."""
    for name, value in report.settings.items():
        yield f"{name.replace('_', ' ')} {_text(value)}"


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return escape(cell) if isinstance(cell, str) else f"{cell:,}"
