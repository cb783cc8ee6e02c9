"""Catalogues: names, what other distributions contribute, and when that is looked up."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sapwood.catalogue import Catalogue, Contribution, Part
from sapwood.errors import ContributionError, InputError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Strategy:
    """An entry as catalogues of strategies have them: with what it cannot be combined, and why."""

    name: str
    summary: str = "a strategy"
    excludes: tuple[tuple[str, str], ...] = ()


COVERING = Strategy("covering", excludes=(("reuse", "covered filters have no keys"),))
REUSE, MERGING = Strategy("reuse"), Strategy("merging")


class Offers:
    """Contributions to the group `g`, and how often they were looked for and imported."""

    def __init__(self, **offered: object) -> None:
        self.looked_for = 0
        self.loaded: list[str] = []
        self.more: tuple[Contribution, ...] = ()
        self._found = tuple(
            Contribution(name, f"{name}-dist 1.0", f"{name}_pack", self._load(name, value))
            for name, value in offered.items()
        )

    def _load(self, name: str, value: object) -> Callable[[], object]:
        def load() -> object:
            self.loaded.append(name)
            if isinstance(value, Exception):
                raise value
            return value

        return load

    def __call__(self, group: str) -> tuple[Contribution, ...]:
        assert group == "g"
        self.looked_for += 1
        return (*self._found, *self.more)


def catalogue(find: Callable[[str], tuple[Contribution, ...]]) -> Catalogue[Strategy]:
    return Catalogue("strategy", Strategy, (COVERING, REUSE, MERGING), "g", find)


def test_entries_are_held_in_the_order_they_are_written() -> None:
    plain = Catalogue("strategy", Strategy, (REUSE, COVERING))
    assert list(plain) == ["reuse", "covering"]
    assert list(plain.values()) == [REUSE, COVERING]
    assert (len(plain), "reuse" in plain, "merging" in plain) == (2, True, False)
    assert plain.usable() == ((REUSE, COVERING), ())


def test_two_entries_of_one_name_are_a_defect() -> None:
    with pytest.raises(AssertionError, match="two entries of one name"):
        Catalogue("strategy", Strategy, (REUSE, Strategy("reuse")))


def test_an_entry_is_chosen_by_name_or_as_itself() -> None:
    strategies = catalogue(Offers())
    assert strategies.named("reuse") is strategies.chosen("reuse") is strategies["reuse"] is REUSE
    own = Strategy("own")
    assert strategies.chosen(own) is own
    with pytest.raises(UnknownNameError, match=r"no strategy is called 'covring'; did you mean 'c"):
        strategies.chosen("covring")
    with pytest.raises(InputError, match="a strategy is chosen by its name or as Strategy, not as"):
        strategies.chosen(5)  # type: ignore[arg-type]  # what a caller may do all the same
    with pytest.raises(KeyError):
        strategies["covring"]


def test_a_compound_name_is_divided_where_names_follow() -> None:
    strategies = catalogue(Offers())
    assert strategies.parts("reuse") == (Part(REUSE, None),)
    assert strategies.parts("reuse+covering:flat-1,columnar+xsearch+merging:0.1") == (
        Part(REUSE, None),
        Part(COVERING, "flat-1,columnar+xsearch"),
        Part(MERGING, "0.1"),
    )
    assert strategies.parts("covering:a:b+") == (Part(COVERING, "a:b+"),)
    for text, wrong in (("covering+mergin:0.1", "mergin"), ("", ""), ("+reuse", ""), ("x:1", "x")):
        with pytest.raises(UnknownNameError) as caught:
            strategies.parts(text)
        assert caught.value.name == wrong


def test_built_in_names_look_for_nothing_and_nothing_is_imported_for_a_list_of_names() -> None:
    offers = Offers(later=Strategy("later"), earlier=Strategy("earlier"))
    strategies = catalogue(offers)
    assert strategies.named("reuse") is REUSE
    assert "reuse" in strategies
    assert offers.looked_for == 0
    assert list(strategies) == ["covering", "reuse", "merging", "later", "earlier"]
    assert "later" in strategies
    assert len(strategies) == 5
    assert offers.loaded == []
    assert strategies.named("later") == Strategy("later")
    assert offers.loaded == ["later"]


@pytest.mark.parametrize(
    ("offered", "reason"),
    [
        (ImportError("No module named 'x'"), "ImportError: No module named 'x'"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        ("text", "it is no Strategy but of type str"),
        (Strategy("other"), "its own name is 'other'"),
    ],
)
def test_a_broken_contribution_is_told_by_its_distribution_when_it_is_asked_for(
    offered: object, reason: str
) -> None:
    strategies = catalogue(Offers(broken=offered, good=Strategy("good")))
    assert strategies.named("good").name == "good"
    message = f"the strategy 'broken' of the distribution broken-dist 1.0 cannot be used: {reason};"
    with pytest.raises(ContributionError, match=message) as caught:
        strategies.named("broken")
    again = copy.copy(caught.value)
    assert str(again) == str(caught.value)
    entries, (error,) = strategies.usable()
    assert entries == (COVERING, REUSE, MERGING, Strategy("good"))
    assert error.distribution == "broken-dist 1.0"


def test_a_name_that_is_built_in_stands_and_one_that_two_contribute_is_nobodys() -> None:
    offers = Offers(reuse=Strategy("reuse", "another one"), twice=Strategy("twice"))
    offers.more = (Contribution("twice", "second 2.0", "second", lambda: Strategy("twice")),)
    strategies = catalogue(offers)
    assert strategies.named("reuse") is REUSE
    assert list(strategies) == ["covering", "reuse", "merging", "twice"]
    with pytest.raises(
        ContributionError, match=r"twice-dist 1.0 .* second 2.0 has one of the same"
    ):
        strategies.named("twice")
    entries, errors = strategies.usable()
    assert entries == (COVERING, REUSE, MERGING)
    assert [(error.name, error.reason) for error in errors] == [
        ("twice", "second 2.0 has one of the same name"),
        ("reuse", "the name is taken"),
    ]


PLUGIN = """
from sapwood.matching.engines import EngineInfo
from sapwood.matching.counting import CountingEngine
ENGINE = EngineInfo("second", "records", True, "the same again", CountingEngine)
"""


def test_engines_of_an_installed_distribution_are_found_listed_and_used(tmp_path: Path) -> None:
    info = tmp_path / "plug_in-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        "[sapwood.engines]\nsecond = plug_in:ENGINE\nbroken = plug_in:MISSING\n"
    )
    (tmp_path / "plug_in.py").write_text(PLUGIN)
    code = (
        "import sys, sapwood\n"
        "index = sapwood.Index('counting')\n"
        "assert 'plug_in' not in sys.modules\n"
        "index = sapwood.Index('second')\n"
        "index.add('s', 'a = 1')\n"
        "assert index.match({'a': 1}) == ['s']\n"
        "from sapwood.cli.main import main\n"
        "main(['engines', '--json'])\n"
    )
    path = os.pathsep.join((str(tmp_path), *sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert {"name": "second", "kind": "records", "exact": True} in json.loads(done.stdout)
    assert "the engine 'broken' of the distribution plug-in 1.5 cannot be used" in done.stderr


def test_importing_catalogues_looks_for_nothing() -> None:
    code = (
        "import importlib.metadata, sys\n"
        "def found(**_): raise AssertionError('nothing asked for it')\n"
        "importlib.metadata.entry_points = found\n"
        "import sapwood.matching.engine_names, sapwood.routing.protocols\n"
        "import sapwood_lab.experiments.catalogue\n"
        "from sapwood.covering.catalogue import covering_named\n"
        "assert covering_named('flat-1,columnar+xsearch').exact\n"
        "assert sapwood.matching.engines.engine_info('columnar').exact\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
