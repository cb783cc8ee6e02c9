from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from sapwood.pipeline.report.size_page import ALL, Peak, SizeFigures, State, sizes_section

PERIOD = ("2026-01-31 12:00:00", "2026-01-31 12:05:00")


def figures(brokers: int, *tables: str, **more: Any) -> SizeFigures:
    """Brokers whose tables hold 3 entries each, and before that none."""
    names = [f"r{n:02}" for n in range(brokers)]
    states = [
        State(name, table, second, entries)
        for second, entries in ((0.0, 0), (300.0, 3))
        for name in names
        for table in (*tables, ALL)
    ]
    peaks = [Peak(name, table, 3, 3) for name in names for table in (*tables, ALL)]
    return replace(SizeFigures(brokers, PERIOD, states, peaks), **more)


def rows(section: str) -> list[list[str | None]]:
    """The cells of the table's body."""
    (table,) = re.findall(r"<table>.*</table>", section)
    body = ElementTree.fromstring(table).find("tbody")
    assert body is not None
    return [[cell.text for cell in row] for row in body]


def test_few_brokers_are_shown_with_their_tables_apart() -> None:
    section = sizes_section(figures(2, "received", "local"))
    assert section.count("<path") == 4
    assert re.findall(r'class="swatch".*?</svg>(.*?)<', section) == ["local", "received"]
    assert rows(section) == [["r00", *["3"] * 6], ["r01", *["3"] * 6]]
    for said in ("from 2026-01-31 12:00:00 to 2026-01-31 12:05:00", ">12:00:00<", "time, in UTC"):
        assert said in section


def test_many_brokers_are_shown_with_all_tables_together() -> None:
    section = sizes_section(figures(40, "local", "received"))
    assert section.count("<path") == 40
    assert "swatch" not in section
    assert "held together" in section
    assert "the number beside a name is the most" in section
    assert len(rows(section)) == 40


def test_more_tables_than_colors_are_shown_together() -> None:
    section = sizes_section(figures(1, *(f"t{n}" for n in range(6))))
    assert section.count("<path") == 1


def test_what_is_counted_twice_is_told_and_not_drawn() -> None:
    section = sizes_section(figures(1, "local", "unconfirmed"))
    assert section.count("<path") == 1
    assert "entries again, and is not drawn" in section


def test_tables_that_never_held_anything_are_left_out() -> None:
    one = figures(1, "local")
    empty = [*one.peaks, Peak("r00", "received", 0, 0)]
    section = sizes_section(SizeFigures(1, PERIOD, one.states, empty))
    assert "received" not in section
    idle = [Peak("r00", "local", 0, 0), Peak("r00", ALL, 0, 0)]
    nothing = [state._replace(entries=0) for state in one.states]
    assert rows(sizes_section(SizeFigures(1, PERIOD, nothing, idle))) == [["r00", "0", "0"]]


def test_a_table_that_a_broker_does_not_have_has_no_number() -> None:
    one = figures(2, "local")
    peaks = [peak for peak in one.peaks if peak[:2] != ("r01", "local")]
    assert rows(sizes_section(SizeFigures(2, PERIOD, one.states, peaks)))[1] == [
        "r01",
        *(None, None, "3", "3"),
    ]


def test_it_says_how_many_brokers_are_not_shown() -> None:
    assert "the 40 of 1,200 brokers" in sizes_section(replace(figures(40, "local"), brokers=1200))


def test_journals_without_table_sizes_are_named() -> None:
    nothing = sizes_section(SizeFigures(without=("<a>/journal",)))
    assert "There are no table sizes in &lt;a&gt;/journal. A broker with --data writes" in nothing
    assert "<svg" not in nothing
    assert "There are no table sizes. A broker" in sizes_section(SizeFigures())
    some = sizes_section(figures(1, "local", without=("b/journal",)))
    assert "There are none in b/journal." in some


def test_ends_are_as_short_as_they_can_be() -> None:
    for last, ends in (
        ("2026-02-01 00:00:00", (">01-31 12:00<", ">02-01 00:00<")),
        ("2027-01-01 00:00:00", (">2026-01-31<", ">2027-01-01<")),
    ):
        section = sizes_section(figures(1, "local", period=(PERIOD[0], last)))
        assert all(end in section for end in ends)


def test_names_are_escaped() -> None:
    peaks = [Peak("<r>", "<t>", 1, 1), Peak("<r>", ALL, 1, 1)]
    states = [State("<r>", "<t>", 0.0, 1), State("<r>", ALL, 0.0, 1)]
    section = sizes_section(SizeFigures(1, PERIOD, states, peaks))
    assert "<r>" not in section
    assert "<t>" not in section
