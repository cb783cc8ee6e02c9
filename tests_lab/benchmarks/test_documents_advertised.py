"""XPEs against advertisements, by two ways that share no code."""

from __future__ import annotations

from sapwood import parse_xpath
from sapwood_lab.benchmarks.documents_advertised import advertised_rows
from sapwood_lab.workload.documents import shipped_dtd


def test_every_class_of_a_recursive_dtd_has_a_row_and_both_ways_agree() -> None:
    xpes = [parse_xpath(text) for text in ("/news/*//p", "//list/item/p", "//nothing")]
    rows = {row["kind"]: row for row in advertised_rows(shipped_dtd("news"), xpes, kind_max=4)}
    procedures = {kind: row["verdict"] for kind, row in rows.items()}
    assert procedures == {
        "non-recursive": "agrees",
        "simple-recursive": "agrees",
        "series-recursive": "agrees",
        "recursive": "no procedure",
    }
    for row in rows.values():
        assert row["pairs"] == 3 * min(4, row["advertisements"])
        assert 0 <= row["meet"] <= 2 / 3
        assert (row["procedure_us"] is None) == (row["verdict"] == "no procedure")
