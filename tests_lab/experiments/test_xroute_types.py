"""Tables for each DTD and one for all, in small."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.overlay.transit_stub import transit_stub
from sapwood_lab.experiments import xroute_types
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.xroute_types import (
    ALL,
    COLUMNS,
    DESIGN,
    TIMED,
    TYPES,
    Tables,
    Wanted,
    advertised,
    fitted,
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_types, "PROBES", 6)
    monkeypatch.setattr(xroute_types, "TURNS", 1)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_tables_for_each_type_deliver_the_same_and_are_searched_less() -> None:
    choices = Choices((40,), 3, repeats=2)
    report = run(DESIGN, choices)
    assert report.columns == COLUMNS
    assert [finding.holds for finding in report.findings] == [True, True, True]
    row = dict(zip(COLUMNS, report.rows[0], strict=True))
    assert row["wrong"] == 0
    (chart,) = report.charts
    assert set(chart.drawn) == set(chart.lines)
    lasting = [at for at, name in enumerate(COLUMNS) if name not in TIMED]
    again = run(DESIGN, choices).rows[0]
    assert [report.rows[0][at] for at in lasting] == [again[at] for at in lasting]


def test_a_subscription_stands_in_the_table_of_each_type_that_it_fits() -> None:
    promised = advertised()
    assert tuple(promised) == TYPES == ("news", "proteins")
    found = {
        text: fitted(parse_xpath(text), promised).types
        for text in ("/news//title", "//reference", "//title", "//p", "/*//name")
    }
    assert found == {
        "/news//title": ("news",),
        "//reference": ("proteins",),
        "//title": TYPES,
        "//p": (),
        "/*//name": TYPES,
    }
    stub = transit_stub(Random(1).randrange)
    shared, apart = Tables(stub, (ALL,)), Tables(stub, TYPES)
    home = stub.consumers[0]
    for text in ("/news//title", "//title"):
        for tables in (shared, apart):
            tables.tell(home, fitted(parse_xpath(text), promised), 1)
    assert shared.sizes(stub.producer) == [1], "one covers the other"
    assert apart.sizes(stub.producer) == [1, 1], "and stands in the table of the other type too"
    assert apart.sizes(home) == [2, 1]
    assert shared.asked.searches > 0


def test_what_stands_in_too_few_tables_is_found_wrong() -> None:
    stub = transit_stub(Random(1).randrange)
    home, anything = stub.consumers[0], parse_xpath("/*")
    sent = {name: xroute_types._documents(name, 2, 1) for name in TYPES}

    def judged(types: tuple[str, ...]) -> object:
        ways = {"shared": Tables(stub, (ALL,)), "apart": Tables(stub, TYPES)}
        for tables in ways.values():
            tables.tell(home, Wanted(anything, types), 1)
        registered = {name: [anything] if name == home else [] for name in stub.consumers}
        return xroute_types._delivered(ways, stub, registered, sent)

    assert judged(TYPES) == {"deliveries": 4, "wrong": 0}
    assert judged(("news",)) == {"deliveries": 4, "wrong": 2}
