from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood.files import decode_subscription
from sapwood.model.filter import Filter
from sapwood_lab.benchmarks import compile as bench


def test_every_second_subscription_is_a_narrower_form_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "_BLOCK", 40)
    read = [decode_subscription(line.rstrip()) for line in bench.lines(160)]
    assert [one.id for one in read] == [f"s{at}" for at in range(160)]
    filters = [one.filter for one in read]
    assert all(isinstance(one, Filter) and len(one.attributes) == 3 for one in filters)
    for block in (filters[:80], filters[80:]):
        for narrow in block[40:]:
            assert any(wide.covers(narrow) and wide != narrow for wide in block[:40])
    assert list(bench.lines(90)) == list(islice(bench.lines(160), 90))


def test_attributes_and_values_follow_zipfs_law() -> None:
    names = Counter(line.split(b'"filter":"')[1][:3] for line in bench.lines(20_000))
    assert names.most_common(1)[0][0] == b"c00"
    assert names[b"c00"] > 1.5 * names[b"c01"] > 2 * names[b"c05"]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_growth_is_that_of_processor_time_for_each_subscription(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first size is compiled in the session that is there; further ones are made up."""
    seen: list[dict[str, Any]] = []

    def in_this_process(source: Path, out: Path) -> dict[str, Any]:
        if not seen:
            seen.append(bench.measure(source, out))
        last = seen[-1]
        seen.append({**last, "cpu_us_per_subscription": 2 * last["cpu_us_per_subscription"]})
        return last

    monkeypatch.setattr(bench, "_BLOCK", 20)
    monkeypatch.setattr(bench, "_in_a_process", in_this_process)
    first, second = bench.run_compile_bench((40, 40), tmp_path)
    assert (first["subscriptions"], first["covered"] + first["entries"]) == (40, 40)
    assert first["covered"] >= 20
    assert first["peak_gib"] >= max(first["jvm_gib"], first["python_gib"]) > 0
    assert (first["growth"], second["growth"]) == (1, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "__name__", "sapwood.no_such_module")
    with pytest.raises(EnvironmentMissingError, match=r"No module named sapwood\.no_such_module"):
        bench._in_a_process(tmp_path, tmp_path)


def test_what_a_process_measures_is_printed_as_json(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(bench, "measure", lambda *paths: {"paths": list(map(str, paths))})
    bench.main("s", "o")
    assert json.loads(capsysbinary.readouterr().out) == {"paths": ["s", "o"]}
