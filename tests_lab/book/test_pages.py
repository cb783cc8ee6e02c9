"""The page of the book, of two small experiments."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from sapwood_lab.book.chapters import Chapter, Section, here, make_chapters
from sapwood_lab.book.pages import page
from sapwood_lab.experiments.catalogue import experiment
from sapwood_lab.experiments.design import Choices, Design
from sapwood_lab.experiments.report import Chart, Finding, Report

VOID = frozenset({"meta"})


class Document(HTMLParser):
    """The tags of a page; all that are opened are closed in turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        assert not given.keys() & {"src", "onclick"}
        if tag not in VOID and tag not in ("line", "rect", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _section(report: Report) -> Section:
    return Section(experiment("curve-runs"), report, "sapwood experiment <name>")


def _bound(report: Report) -> str:
    return page((Chapter("Work & co", (_section(report),)),), {"cores": "2"})


def test_page_of_real_experiments_is_well_formed_and_needs_no_network(tmp_path: Path) -> None:
    tiny = {"curve-runs": (5,), "delay-bounds": (60,), "clock-rates": (100,)}

    def with_less(sought: str, sizes: tuple[int, ...]) -> Design:
        design = experiment(sought).load()
        return Design(design.configurations, design.measure, design.report, Choices(sizes))

    runner = here(tmp_path)
    chapters = make_chapters(
        [experiment(name) for name in tiny],
        lambda one, design, choices: runner(
            one, with_less(one.name, tiny[one.name]), Choices(tiny[one.name], choices.seed)
        ),
        is_quick=True,
        seed=1,
    )
    html = page(chapters, {"processor": "a <fast> one", "cores": "2"})
    found = Document(html)
    assert [link[1:] for link in found.links] == [
        *("work-shen", "curve-runs", "work-xsiena", "delay-bounds", "clock-rates")
    ]
    assert {link[1:] for link in found.links} == set(found.ids)
    assert len(found.ids) == len(set(found.ids))
    assert "http" not in html.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "@media(prefers-color-scheme:dark)" in html
    text = "".join(found.texts)
    for chapter in chapters:
        for section in chapter.sections:
            assert section.report.title in text
            assert section.command in text
            assert all(one.claim in text and one.shown in text for one in section.report.findings)
    assert "processor a <fast> one; cores 2" in text


def test_published_lines_stand_beside_ours_over_the_same_axes() -> None:
    chart = Chart("n", "t", "x", "y", {"a": [(10, 10)]}, published={"a": [(1000, 0.1)]})
    html = _bound(Report("T", {}, ("n",), ((1,),), "c", (chart,)))
    published, ours = html.split("<figure>")[1:]
    assert "<figcaption>Published</figcaption>" in published
    assert "<figcaption>Here</figcaption>" in ours
    ends = ">0.1<", ">10<", ">1,000<"
    assert all(end in side for end in ends for side in (published, ours))
    assert published.count("<circle") == ours.count("<circle") == 1
    alone = Chart("n", "t", "x", "y", {"a": [(10, 10)]})
    assert "Published" not in _bound(Report("T", {}, ("n",), ((1,),), "c", (alone,)))


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (Finding("a < b", True, "1, 2", "small"), "<b>holds</b> a &lt; b <i>1, 2</i></li>"),
        (
            Finding("c", False, "1", "small & few"),
            "<i>1</i><p>As we read it: small &amp; few</p></li>",
        ),
        (Finding("c", False, "1"), "<p>The reason is not known.</p>"),
    ],
)
def test_findings_say_why_they_do_not_hold(finding: Finding, said: str) -> None:
    html = _bound(Report("T", {}, ("n",), ((1,),), "c", findings=(finding,)))
    assert said in html
    assert f"{int(finding.holds)} of 1 hold" in html


def test_what_might_hold_with_what_was_published_is_told_apart() -> None:
    found = Finding("c", False, "1", "too few", "10,000 routers")
    html = _bound(Report("T", {}, ("n",), ((1,),), "c", findings=(found, Finding("d", True, "2"))))
    assert '<li class="open"><b>not at this size</b> c' in html
    assert "As we read it: too few Published are 10,000 routers." in html
    assert "1 of 2 hold, 1 not at this size" in html
    assert "1 of the others might with what was published" in html
    holds = Finding("c", True, "1", "too few", "10,000 routers")
    assert "not at this size" not in _bound(
        Report("T", {}, ("n",), ((1,),), "c", findings=(holds,))
    )


def test_each_work_has_its_errata() -> None:
    html = page((Chapter("Shen", (_section(Report("T", {}, ("n",), ((1,),), "c")),)),), {})
    assert "Where the work errs" in html
    assert "costs 300, and who waits 101: 2.97 times" in html
    assert "Where the work errs" not in _bound(Report("T", {}, ("n",), ((1,),), "c"))


def test_published_columns_are_tinted_and_long_tables_are_closed() -> None:
    report = Report("T", {}, ("n", "published_n"), tuple((n, None) for n in range(12)), "c")
    html = _bound(report)
    assert '<th class="theirs">published n</th>' in html
    assert '<td>11</td><td class="theirs"></td>' in html
    assert "<details open>" in html
    longer = Report("T", {}, ("n",), tuple((n,) for n in range(13)), "c")
    assert "<details><summary>All figures: 13 rows" in _bound(longer)
