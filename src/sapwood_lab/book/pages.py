"""The page of the book: one file that needs nothing else; no script runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from sapwood_lab.book.chapters import Chapter, Section, Tally
from sapwood_lab.book.errata import Erratum, errata_of
from sapwood_lab.book.figures import findings, pictures, scattered, table

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#5d6874;--back:#fbfaf7;--card:#fff;
--line:#e3e0d8;--yes:#2f6f3f;--no:#ad3f20;--open:#80651a;--theirs:#f3efe2}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a3adb7;--back:#15191d;
--card:#1d2328;--line:#39424b;--yes:#7cc38d;--no:#ee9471;--open:#d9b95a;--theirs:#2a2f2a}
.line-1{--hue:#7fb3e0}.line-2{--hue:#ee8f78}.line-3{--hue:#7cc38d}.line-4{--hue:#c49bdc}
.line-5{--hue:#dcb558}.line-6{--hue:#aab8c0}.line-7{--hue:#f27aa4}.line-8{--hue:#5cc5cf}
polyline[class]{stroke:var(--hue)}circle[class],text[class]{fill:var(--hue)}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:1180px;margin:auto;padding:28px 16px}
h1{font-size:30px;margin:0 0 6px;line-height:1.2}h2{font-size:24px;margin:44px 0 4px}
h3{font-size:18px;margin:0}p{margin:6px 0 12px;max-width:46em}.soft,i{color:var(--soft)}
i{font-style:normal}a{color:inherit}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:16px;margin:16px 0;min-width:0}
nav ol{padding-left:20px;margin:12px 0}nav li{margin:4px 0}nav ul{padding-left:18px}
.findings{list-style:none;padding:0;margin:12px 0}
.findings li{border-left:4px solid;padding:2px 0 2px 10px;margin:8px 0}
.yes{border-color:var(--yes)!important}.no{border-color:var(--no)!important}
.open{border-color:var(--open)!important}.yes b{color:var(--yes)}.no b{color:var(--no)}
.open b{color:var(--open)}.no p,.open p{margin:2px 0 0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:12px}
figure{margin:12px 0;min-width:0}figcaption{font-weight:600}
.scroll{overflow-x:auto}.scroll svg{display:block;width:100%;min-width:460px;max-width:720px}
svg text:not([class]){fill:var(--ink)}rect.ground{fill:none}line.scale{stroke:var(--line)}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;text-align:right;white-space:nowrap}th{color:var(--soft);font-weight:600}
tbody tr{border-top:1px solid var(--line)}.theirs{background:var(--theirs)}
summary{cursor:pointer;color:var(--soft)}pre{overflow-x:auto;margin:8px 0;padding:8px 10px;
background:var(--back);border:1px solid var(--line);border-radius:6px;font-size:13px}
"""


def page(chapters: Sequence[Chapter], about: Mapping[str, str]) -> str:
    """The book as HTML; `about` names the machine and the time of its making."""
    held, unknown, of = map(sum, zip(*(chapter.tally for chapter in chapters), strict=True))
    short = f"; {unknown:,} of the others might with what was published" if unknown else ""
    machine = "; ".join(f"{name} {value}" for name, value in about.items())
    listed = "".join(map(_entry, chapters))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The book of evidence</title><style>{_STYLE}</style></head><body><main>"
        "<h1>What was published, made again</h1>"
        f"<p>{held:,} of {of:,} claims of {len(chapters)} works hold in the figures of this book"
        f"{short}. "
        "Orders, ratios and shapes are compared: machines, languages and data are others. Where a "
        "work's curve can be read as numbers, it stands beside ours over the same axes; columns "
        "of tables that are tinted are published ones.</p>"
        f'<p class="soft">{escape(machine)}</p>'
        f"<nav><ol>{listed}</ol></nav>{''.join(map(_chapter, chapters))}</main></body></html>\n"
    )


def _entry(chapter: Chapter) -> str:
    within = "".join(
        f'<li><a href="#{one.experiment.name}">{escape(_capital(one.where))}</a>: '
        f"{escape(one.experiment.summary)} {_tally(one.tally)}</li>"
        for one in chapter.sections
    )
    return (
        f'<li><a href="#{_anchor(chapter)}">{escape(chapter.work)}</a> {_tally(chapter.tally)}'
        f"<ul>{within}</ul></li>"
    )


def _chapter(chapter: Chapter) -> str:
    sections = "".join(map(_section, chapter.sections))
    errata = "".join(map(_erratum, errata_of(chapter.work)))
    wrong = f"<section><h3>Where the work errs</h3><ul>{errata}</ul></section>" if errata else ""
    return f'<h2 id="{_anchor(chapter)}">{escape(chapter.work)}</h2>{sections}{wrong}'


def _erratum(one: Erratum) -> str:
    return (
        f'<li><b>{escape(one.printed)}</b> <span class="soft">({escape(one.place)})</span>: '
        f"{escape(one.found())}.</li>"
    )


def _section(section: Section) -> str:
    report, name = section.report, section.experiment.name
    return (
        f'<section id="{name}"><h3>{escape(report.title)}</h3>'
        f'<p class="soft">{escape(section.experiment.source)}: '
        f"{escape(section.experiment.summary)}</p>"
        f"{findings(report)}{pictures(report)}"
        f"<p>What can be compared: {escape(report.compare)}</p>{table(report)}"
        f'<pre>{escape(section.command)}</pre><p class="soft">{"; ".join(scattered(report))}</p>'
        "</section>"
    )


def _tally(found: Tally) -> str:
    more = f", {found.open} not at this size" if found.open else ""
    return f'<span class="soft">{found.held} of {found.all} hold{more}</span>' if found.all else ""


def _anchor(chapter: Chapter) -> str:
    return f"work-{chapter.work.lower().replace(' ', '-')}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
