"""The page of `report`: what the figures say, for a person to look at.

One file that needs nothing else: plots are SVG within it (`charts`), and no script runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from sapwood.pipeline.charts import Bar, Line, bars, columns, lines, number

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#66717d;--back:#fbfaf7;--card:#fff;
--line:#e3e0d8;--first:#3f7d4e;--second:#c8643b}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#98a2ad;--back:#15191d;--card:#1d2328;
--line:#333b43;--first:#6fb57f;--second:#e08a63}}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:auto;padding:32px 20px}
h1{font-size:26px;margin:0}h2{font-size:16px;margin:0 0 4px}
p{color:var(--soft);margin:0 0 12px}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.tile,section{background:var(--card);border:1px solid var(--line);border-radius:10px}
.tile{padding:12px 18px;min-width:120px}.tile b{display:block;font-size:24px}
.tile span{color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:16px}
section{padding:16px 18px}svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}
rect.first,circle.first{fill:var(--first)}rect.second,circle.second{fill:var(--second)}
polyline{fill:none;stroke-width:2}polyline.first{stroke:var(--first)}
polyline.second{stroke:var(--second)}
polyline.even{stroke:var(--soft);stroke-dasharray:4 4}circle.even{display:none}
line.scale{stroke:var(--line)}
.second-word{color:var(--second)}
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a report. `None` where what they count was not given.

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
    """What the page shows beside the totals; empty where there is nothing to show.

    `top` are (subscription, publications), `fan_out` (low, high, publications), `skew` (part,
    share), `rates` (start as text, publications, deliveries), `links` (link, crossings, needless).
    """

    top: Sequence[tuple[str, int]] = ()
    fan_out: Sequence[tuple[int, int, int]] = ()
    skew: Sequence[tuple[float, float]] = ()
    rates: Sequence[tuple[str, int, int]] = ()
    links: Sequence[tuple[str, int, int]] = ()


def page(totals: Totals, figures: PageFigures) -> str:
    """The page as HTML."""
    plots = "".join(
        _section(title, said, plot)
        for title, said, plot in (
            _top(figures),
            _fan_out(figures),
            _skew(totals, figures),
            *_rates(figures),
            _links(figures),
        )
        if plot
    )
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in _tiles(totals)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Deliveries</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>Deliveries</h1><p>{escape(_sentence(totals))}</p>"
        f'<div class="tiles">{tiles}</div><div class="plots">{plots}</div></main></body></html>\n'
    )


def _sentence(totals: Totals) -> str:
    if not totals.deliveries:
        return "Nothing was delivered."
    each = totals.deliveries / totals.publications_wanted
    return (
        f"Each publication that anybody wanted reached {number(each)} subscriptions on average, "
        f"and {number(totals.fan_out_max)} at most. The most served hundredth of the subscriptions "
        f"got {totals.top_share:.0%} of all deliveries."
    )


def _tiles(totals: Totals) -> list[tuple[str, str]]:
    def of(count: int, whole: int | None) -> str:
        return number(count) if not whole else f"{number(count)} of {number(whole)}"

    tiles = [
        ("deliveries", number(totals.deliveries)),
        ("publications wanted", of(totals.publications_wanted, totals.published)),
        ("subscriptions served", of(totals.subscriptions_served, totals.subscribed)),
    ]
    if totals.dead is not None:
        tiles.append(("dead subscriptions", number(totals.dead)))
    if totals.crossings is not None and totals.needless is not None:
        tiles.append(("link crossings for nobody", of(totals.needless, totals.crossings)))
    return tiles


def _section(title: str, said: str, plot: str) -> str:
    return f"<section><h2>{title}</h2><p>{said}</p>{plot}</section>"


def _top(figures: PageFigures) -> tuple[str, str, str]:
    plot = bars([Bar(name, count) for name, count in figures.top]) if figures.top else ""
    return "The most served subscriptions", "Publications that each of them got.", plot


def _fan_out(figures: PageFigures) -> tuple[str, str, str]:
    shown = [
        Bar(
            number(low) if low == high else f"{number(low)} to {number(high)}",
            count,
            told=f"{number(count)} publications reached {number(low)} to {number(high)}",
        )
        for low, high, count in figures.fan_out
    ]
    said = "Publications by the number of subscriptions that they reached."
    return "Fan-out", said, columns(shown) if shown else ""


def _skew(totals: Totals, figures: PageFigures) -> tuple[str, str, str]:
    said = (
        "The share of all deliveries that went to the most served part of the subscriptions; "
        "dashed, if all got the same."
    )
    if not figures.skew or not totals.deliveries:
        return "Skew", said, ""
    share = Line("share of deliveries, in percent", [(0, 0), *_percent(figures.skew)])
    even = Line("the same for all", [(0, 0), (100, 100)], "even")
    return "Skew", said, lines([even, share], "0 %", "100 % of the subscriptions served")


def _rates(figures: PageFigures) -> Iterator[tuple[str, str, str]]:
    """Two plots, since deliveries may be a thousand times as many as publications."""
    if not figures.rates:
        return
    first, last = figures.rates[0][0], figures.rates[-1][0]
    published = Line("publications", [(x, r[1]) for x, r in enumerate(figures.rates)])
    delivered = Line("deliveries", [(x, r[2]) for x, r in enumerate(figures.rates)], "second")
    said = "In each interval in which anything was published."
    yield "Publications over time", said, lines([published], first, last)
    yield "Deliveries over time", said, lines([delivered], first, last)


def _links(figures: PageFigures) -> tuple[str, str, str]:
    shown = [
        Bar(link, count, needless, f"{link}: {number(needless)} of {number(count)} for nobody")
        for link, count, needless in figures.links
    ]
    said = 'Crossings of links; <span class="second-word">those that served nobody</span>.'
    return "False positives", said, bars(shown) if shown else ""


def _percent(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(100 * part, 100 * share) for part, share in points]
