"""The page of `report`: its figures, for a person to look at.

One file that needs nothing else: plots are SVG within it (`sapwood.charts`), and no script runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from sapwood.charts import STYLE, number
from sapwood.charts.plots import Axes, Bar, Line, bars, columns, legend, lines
from sapwood.pipeline.report.size_page import SizeFigures, sizes_section

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#66717d;--back:#fbfaf7;--card:#fff;
--line:#e3e0d8;--first:#3f7d4e;--second:#c8643b;--third:#4472a8;--fourth:#b8912f;--fifth:#85609f}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#98a2ad;--back:#15191d;--card:#1d2328;
--line:#333b43;--first:#6fb57f;--second:#e08a63;--third:#7ea6d8;--fourth:#d9b65e;--fifth:#b694cf}}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:auto;padding:32px 20px}
h1{font-size:28px;margin:0 0 4px}h2{font-size:17px;margin:0 0 2px}
p{color:var(--soft);margin:0 0 12px}p.lead{color:var(--ink);font-size:17px;max-width:52em}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.tile,section{background:var(--card);border:1px solid var(--line);border-radius:10px}
.tile{padding:12px 18px;min-width:120px}.tile b{display:block;font-size:24px}
.tile i{font-style:normal;color:var(--soft);font-size:15px;font-weight:400}
.tile span{color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(480px,100%),1fr));gap:16px}
section{padding:16px 18px}
.wide{grid-column:1/-1;min-width:0}.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:12px 0;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:2px 0;text-align:left;white-space:nowrap}th,td.most{color:var(--soft);font-weight:400}
tbody tr{border-top:1px solid var(--line)}th[colspan],.latest,.most{text-align:right}
th[colspan],.latest{padding-left:30px}.most{padding-left:12px}
ul{columns:2;margin:0;padding-left:18px;overflow-wrap:anywhere}
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a report. `None` where the input that they count was not given.

    `top_share` is the part of all deliveries that went to the most served hundredth of the
    subscriptions that got any.
    """

    deliveries: int
    publications_wanted: int
    subscriptions_served: int
    fan_out_max: int
    top_share: float
    published: int | None = None
    subscribed: int | None = None
    dead: int | None = None
    crossings: int | None = None
    needless: int | None = None


@dataclass(frozen=True, slots=True)
class PageFigures:
    """The figures of the page beside the totals; empty where there is nothing to show.

    `top` are (subscription, publications), `fan_out` (low, high, publications), `skew` (part,
    share), `rates` (start as text, publications, deliveries), `links` (link, crossings, needless),
    `delays` (quantile, seconds), `dead` some of the subscriptions that got nothing, `sizes` the
    figures of routing tables, `None` where not requested.
    """

    top: Sequence[tuple[str, int]] = ()
    fan_out: Sequence[tuple[int, int, int]] = ()
    skew: Sequence[tuple[float, float]] = ()
    rates: Sequence[tuple[str, int, int]] = ()
    links: Sequence[tuple[str, int, int]] = ()
    delays: Sequence[tuple[float, float]] = ()
    dead: Sequence[str] = ()
    sizes: SizeFigures | None = None


def page(totals: Totals, figures: PageFigures) -> str:
    """The page as HTML."""
    plots = "".join(
        _section(title, said, plot)
        for title, said, plot in (
            *_rates(figures),
            _top(totals, figures),
            _skew(totals, figures),
            _fan_out(totals, figures),
            _delays(figures),
            _links(figures),
            _dead(totals, figures),
        )
        if plot
    )
    if figures.sizes is not None:
        plots += sizes_section(figures.sizes)
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)} <i>{escape(whole)}</i></b>'
        f"<span>{escape(name)}</span></div>"
        for name, value, whole in _tiles(totals)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Who got what</title><style>{_STYLE}{STYLE}</style></head><body><main>"
        f"<h1>Who got what</h1><p>{escape(_period(figures))}</p>"
        f'<p class="lead">{escape(_sentence(totals))}</p>'
        f'<div class="tiles">{tiles}</div><div class="plots">{plots}</div></main></body></html>\n'
    )


def _period(figures: PageFigures) -> str:
    if not figures.rates:
        return "Deliveries of publications to subscriptions"
    return f"Deliveries of what was published from {figures.rates[0][0]} to {figures.rates[-1][0]}"


def _sentence(totals: Totals) -> str:
    if not totals.deliveries:
        return "Nothing was delivered."
    each = totals.deliveries / totals.publications_wanted
    return (
        f"Each publication that anybody wanted reached {number(each)} subscriptions on average, "
        f"and {number(totals.fan_out_max)} at most. The most served hundredth of the subscriptions "
        f"got {totals.top_share:.0%} of all deliveries."
    )


def _tiles(totals: Totals) -> list[tuple[str, str, str]]:
    """Names, values, and the wholes of which they are a part."""

    def of(count: int, whole: int | None) -> tuple[str, str]:
        return number(count), f"of {number(whole)}" if whole else ""

    tiles = [
        ("deliveries", number(totals.deliveries), ""),
        ("publications wanted", *of(totals.publications_wanted, totals.published)),
        ("subscriptions served", *of(totals.subscriptions_served, totals.subscribed)),
    ]
    if totals.dead is not None:
        tiles.append(("dead subscriptions", *of(totals.dead, totals.subscribed)))
    if totals.crossings is not None and totals.needless is not None:
        tiles.append(("link crossings for nobody", *of(totals.needless, totals.crossings)))
    return tiles


def _section(title: str, said: str, plot: str) -> str:
    return f"<section><h2>{title}</h2><p>{said}</p>{plot}</section>"


def _top(totals: Totals, figures: PageFigures) -> tuple[str, str, str]:
    shown = [
        Bar(name, count, beside=_share(count, totals.deliveries)) for name, count in figures.top
    ]
    said = "Publications that each of them got, and their share of all deliveries."
    return "The most served subscriptions", said, bars(shown) if shown else ""


def _fan_out(totals: Totals, figures: PageFigures) -> tuple[str, str, str]:
    whole = totals.published or totals.publications_wanted
    shown = [
        Bar(
            number(low) if low == high else f"{number(low)} to {number(high)}",
            count,
            title=f"{number(count)} publications reached {number(low)} to {number(high)}",
            beside=_share(count, whole),
        )
        for low, high, count in figures.fan_out
    ]
    axes = Axes("publications", "subscriptions reached")
    said = "Publications by the number of subscriptions that they reached."
    return "Fan-out", said, columns(shown, axes) if shown else ""


def _skew(totals: Totals, figures: PageFigures) -> tuple[str, str, str]:
    said = (
        "The share of all deliveries that went to the most served part of the subscriptions; "
        "dashed, if all got the same."
    )
    if not figures.skew or not totals.deliveries:
        return "Skew", said, ""
    share = Line("share of deliveries", [(0, 0), *_percent(figures.skew)])
    even = Line("the same for all", [(0, 0), (100, 100)], "even")
    along = "subscriptions served, from the most to the least"
    axes = Axes("share of all deliveries", along, ("0 %", "100 %"), " %")
    return "Skew", said, lines([even, share], axes)


def _rates(figures: PageFigures) -> Iterator[tuple[str, str, str]]:
    """Two plots, since deliveries may be a thousand times as many as publications."""
    if not figures.rates:
        return
    ends = (figures.rates[0][0], figures.rates[-1][0])
    published = Line("publications", [(x, r[1]) for x, r in enumerate(figures.rates)])
    delivered = Line("deliveries", [(x, r[2]) for x, r in enumerate(figures.rates)], "second")
    said = "In each interval in which anything was published."
    up, along = "in an interval", "time, in UTC"
    yield (
        "Publications over time",
        said,
        lines([published], Axes(f"publications {up}", along, ends)),
    )
    yield "Deliveries over time", said, lines([delivered], Axes(f"deliveries {up}", along, ends))


def _delays(figures: PageFigures) -> tuple[str, str, str]:
    shown = [
        Bar(
            "slowest" if quantile == 1 else f"{100 * quantile:.4g} %",
            max(delay, 0.0),  # Clocks that disagree may show an arrival before its departure.
            beside=_duration(delay),
            title=f"{100 * quantile:.4g} % of the deliveries took at most {_duration(delay)}",
        )
        for quantile, delay in figures.delays
    ]
    axes = Axes("seconds", "of all deliveries took at most that long")
    said = "From when a publication was accepted to when a subscriber had it."
    return "Delay", said, columns(shown, axes) if shown else ""


def _links(figures: PageFigures) -> tuple[str, str, str]:
    shown = [
        Bar(
            link,
            count,
            needless,
            f"{link}: {number(needless)} of {number(count)} for nobody",
            _share(needless, count),
        )
        for link, count, needless in figures.links
    ]
    said = "Publications that crossed each link, and how many of them nobody behind it wanted."
    keys = legend([("first", "wanted behind the link"), ("second", "for nobody")])
    plot = f'<div class="keys">{keys}</div>{bars(shown)}' if shown else ""
    return "Traffic and false positives per link", said, plot


def _dead(totals: Totals, figures: PageFigures) -> tuple[str, str, str]:
    names = "".join(f"<li>{escape(name)}</li>" for name in figures.dead)
    more = (totals.dead or 0) - len(figures.dead)
    after = f"<p>and {number(more)} more; the table dead has all.</p>" if more > 0 else ""
    said = "Nothing that was published matched them."
    return "Dead subscriptions", said, f"<ul>{names}</ul>{after}" if figures.dead else ""


def _share(part: float, whole: float) -> str:
    if not whole:
        return ""
    return "below 0.1%" if 0 < part < whole / 1000 else f"{part / whole:.1%}"


def _duration(seconds: float) -> str:
    """A delay as people read it."""
    return f"{number(seconds)} s" if abs(seconds) >= 1 else f"{seconds * 1000:.3g} ms"


def _percent(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(100 * part, 100 * share) for part, share in points]
