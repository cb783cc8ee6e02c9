from __future__ import annotations

import re

from sapwood.pipeline.report.pages import PageFigures, Totals, page

TOTALS = Totals(1000, 10, 20, 300, 0.25, published=12, subscribed=30, dead=10)
FIGURES = PageFigures(
    top=[("<s&1>", 300), ("a" * 60, 2)],
    fan_out=[(0, 0, 2), (1, 1, 4), (2, 3, 6)],
    skew=[(0.1, 0.5), (1.0, 1.0)],
    rates=[("2026-01-31 12:00:00", 5, 500), ("2026-01-31 13:00:00", 5, 500)],
    links=[("r1-r2", 10, 4)],
    delays=[(0.5, 0.0021), (0.999, 1.5), (1.0, 2000.0)],
    dead=["<d>"],
)


def test_page_needs_nothing_but_itself() -> None:
    text = page(TOTALS, FIGURES)
    assert not re.search(r"https?:|<script|<link|@import|url\(|src=", text)
    assert len(text) < 40_000


def test_page_escapes_what_people_wrote() -> None:
    text = page(TOTALS, FIGURES)
    assert "<s&1>" not in text
    assert "&lt;s&amp;1&gt;: 300" in text


def test_page_leaves_out_what_was_not_given() -> None:
    text = page(Totals(0, 0, 0, 0, 0.0), PageFigures())
    assert "Nothing was delivered." in text
    assert "<svg" not in text
    assert "dead" not in text


def test_page_says_units_periods_and_shares() -> None:
    text = page(TOTALS, FIGURES)
    for said in (
        "published from 2026-01-31 12:00:00 to 2026-01-31 13:00:00",
        "50 % of the deliveries took at most 2.1 ms",
        "slowest",
        "2,000 s",
        "30.0%",  # of 1,000 deliveries went to the first subscription
        "40.0%",  # of the crossings were for nobody
        "<li>&lt;d&gt;</li>",
        "and 9 more",
        "subscriptions reached",
    ):
        assert said in text


def test_page_does_not_round_a_little_to_nothing() -> None:
    figures = PageFigures(fan_out=[(0, 0, 99_999), (1, 1, 1)])
    assert "below 0.1%" in page(Totals(1, 1, 1, 1, 1.0, published=100_000), figures)
