"""Matches from the forms that callers have."""

from __future__ import annotations

from sapwood_lab.benchmarks.records import forms


def test_all_forms_of_a_record_give_the_same_ids_and_have_a_cost() -> None:
    found = forms.run_forms(2000, "mix", 0.0)
    assert found["are_equal"]
    assert found["matches"] > 0
    assert all(found[f"{form}_us"] > 0 for form in ("dict", "json", "many", "search"))


def test_wide_records_have_as_many_attributes_as_said() -> None:
    record = forms._wide({"a": 1, "b": 2})
    assert len(record) == forms.ATTRIBUTES
    assert {"a": 1, "b": 2}.items() <= record.items()
